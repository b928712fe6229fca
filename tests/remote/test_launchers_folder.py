from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.errors import InvalidRequest
from everloop.remote.launchers import folder


def test_create_is_exclusive_whole_and_leaves_no_parts(tmp_path: Path) -> None:
    file = tmp_path / "claim"
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: folder.create(file, b"%d" % number * 1000), range(32)))
    assert won.count(True) == 1
    assert file.read_bytes() == b"%d" % won.index(True) * 1000
    assert [path.name for path in tmp_path.iterdir()] == ["claim"]


def test_write_replaces_and_is_private(tmp_path: Path) -> None:
    file = tmp_path / "x"
    folder.write(file, b"old")
    folder.write(file, b"new")
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_read_follows_no_link_and_believes_no_size(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    assert folder.read(tmp_path / "x") == b"0123456789"
    assert folder.read(tmp_path / "x", tail=4) == b"6789"
    assert folder.read(tmp_path / "x", limit=9) is None
    assert folder.read(tmp_path / "link") is None
    assert folder.read(tmp_path) is None
    assert folder.read(tmp_path / "absent") is None


@given(st.text(max_size=30))
def test_law_an_accepted_input_name_stays_below_its_folder(name: str) -> None:
    try:
        path = folder.checked_input(name)
    except InvalidRequest:
        return
    assert path.parts and ".." not in path.parts and not path.is_absolute()
    assert str(path) == name


def test_make_creates_every_parent_private(tmp_path: Path) -> None:
    folder.make(tmp_path / "a" / "b")
    folder.make(tmp_path / "a" / "b")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700] * 2


def test_other_errors_are_not_taken_for_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), folder.room(tmp_path):
        folder.write(tmp_path / "absent" / "x", b"")
