"""Checkpoints on disk: whole or not at all, and known by their bytes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from everloop.errors import CheckpointCorrupt, StorageFull
from everloop.students import checkpoints
from everloop.students.synthetic import SyntheticTrainer

LIMITED = """
import resource, sys
from pathlib import Path
from everloop.errors import StorageFull
from everloop.students.synthetic import SyntheticTrainer
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
try:
    SyntheticTrainer().init(Path(sys.argv[1]), 0)
except StorageFull as error:
    sys.exit(error.status - 500)
"""


def made(tmp_path: Path) -> Path:
    SyntheticTrainer().init(tmp_path / "c", 3)
    return tmp_path / "c"


def test_a_checkpoint_is_its_weights_and_a_manifest(tmp_path: Path) -> None:
    path = made(tmp_path)
    assert sorted(file.name for file in path.iterdir()) == ["manifest.json", "weights.json"]
    manifest = checkpoints.verify(path)
    assert manifest == checkpoints.load_manifest(path)
    assert (manifest.trainer, manifest.seed, manifest.parent_sha256, manifest.rows) == ("synthetic", 3, None, 0)
    assert [file.name for file in tmp_path.iterdir()] == ["c"]


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    path = made(tmp_path)
    data = bytearray((path / "weights.json").read_bytes())
    data[5] ^= 1
    (path / "weights.json").write_bytes(data)
    with pytest.raises(CheckpointCorrupt, match="hash to"):
        checkpoints.verify(path)
    assert checkpoints.load_manifest(path).seed == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"trainer": "x"}', "null"])
def test_a_manifest_that_is_none_is_corruption(tmp_path: Path, text: str) -> None:
    path = made(tmp_path)
    (path / "manifest.json").write_text(text)
    with pytest.raises(CheckpointCorrupt):
        checkpoints.verify(path)


def test_missing_parts_are_corruption(tmp_path: Path) -> None:
    with pytest.raises(CheckpointCorrupt):
        checkpoints.verify(tmp_path / "nothing")
    path = made(tmp_path)
    (path / "weights.json").unlink()
    with pytest.raises(CheckpointCorrupt, match="one weights file"):
        checkpoints.verify(path)


def test_links_are_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(CheckpointCorrupt, match="symbolic link"):
        checkpoints.verify(tmp_path / "link")
    (path / "weights.json").rename(tmp_path / "elsewhere")
    (path / "weights.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointCorrupt):
        checkpoints.verify(path)


def test_an_existing_checkpoint_is_never_written_over(tmp_path: Path) -> None:
    path = made(tmp_path)
    before = checkpoints.verify(path)
    with pytest.raises(OSError, match="not empty"):
        SyntheticTrainer().init(path, 4)
    assert checkpoints.verify(path) == before and len(list(tmp_path.iterdir())) == 1


def test_a_file_size_limit_is_a_full_storage_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path / "c")], check=False)
    assert done.returncode == StorageFull.status - 500
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_full_storage_and_leaves_nothing(tmp_path: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", os.fsencode(tmp_path), b"tmpfs", 0, b"size=1m") != 0:
        test_a_file_size_limit_is_a_full_storage_and_leaves_nothing(tmp_path)  # not allowed to mount: the next best
        return
    try:
        (tmp_path / "filler").write_bytes(bytes((1 << 20) - 8192))
        weights = bytes(1 << 16)
        with pytest.raises(StorageFull, match="No space left"):
            checkpoints.save(tmp_path / "c", weights, "weights.json", lambda _: manifest_like(tmp_path))
        assert [file.name for file in tmp_path.iterdir()] == ["filler"]
    finally:
        libc.umount2(os.fsencode(tmp_path), 2)


def manifest_like(folder: Path) -> checkpoints.Manifest:
    return checkpoints.Manifest("t", "0" * 64, None, None, 0, 0, {}, 1, str(folder), {})
