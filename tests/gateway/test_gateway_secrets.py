from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from everloop.errors import InvalidRequest, ModelNotConfigured
from everloop.gateway.base import KeySource, ModelEntry
from everloop.gateway.secrets import Secrets
from everloop.paths import Home

KEY = "sk-test-0123456789-not-for-others"
FILED = ModelEntry(name="gpt", provider="openai", model="gpt-5", key_source=KeySource.FILE)
NAMED = replace(FILED, key_source=KeySource.ENVIRONMENT, key_name="ACME_KEY")


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return Secrets(Home(tmp_path))


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_key_is_read_as_it_was_written(secrets: Secrets) -> None:
    secrets.write("gpt", f"  {KEY}\n")
    assert secrets.read(FILED) == KEY


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_only_its_owner_may_read_it_whatever_the_umask(secrets: Secrets, umask: int) -> None:
    secrets.folder.mkdir(mode=0o700)
    before = os.umask(umask)
    try:
        secrets.write("gpt", KEY)
    finally:
        os.umask(before)
    assert _mode(secrets.folder / "gpt") == 0o600


def test_the_folder_is_for_its_owner_alone(secrets: Secrets) -> None:
    secrets.write("gpt", KEY)
    assert _mode(secrets.folder) == 0o700


def test_a_later_key_replaces_an_earlier_one_and_leaves_nothing_else(secrets: Secrets) -> None:
    secrets.write("gpt", "first")
    secrets.write("gpt", KEY)
    assert secrets.read(FILED) == KEY
    assert [found.name for found in secrets.folder.iterdir()] == ["gpt"]


def test_a_write_that_fails_keeps_the_earlier_key(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets.write("gpt", "first")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Exception, match="No space left") as caught:
        secrets.write("gpt", KEY)
    assert caught.value.code == "STORAGE_FULL"  # type: ignore[attr-defined]
    assert KEY not in str(caught.value)
    assert secrets.read(FILED) == "first"
    assert [found.name for found in secrets.folder.iterdir()] == ["gpt"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_may_use_is_refused_with_the_remedy(secrets: Secrets, mode: int) -> None:
    secrets.write("gpt", KEY)
    (secrets.folder / "gpt").chmod(mode)
    with pytest.raises(ModelNotConfigured) as caught:
        secrets.read(FILED)
    assert f"chmod 0600 {secrets.folder / 'gpt'}" in caught.value.then
    assert KEY not in str(caught.value)


def test_a_folder_that_others_may_use_is_refused_with_the_remedy(secrets: Secrets) -> None:
    secrets.write("gpt", KEY)
    secrets.folder.chmod(0o755)
    with pytest.raises(ModelNotConfigured, match=f"chmod 0700 {secrets.folder}"):
        secrets.read(FILED)
    with pytest.raises(ModelNotConfigured, match="chmod 0700"):
        secrets.write("gpt", KEY)


def test_a_link_in_the_place_of_a_key_is_neither_read_nor_written(secrets: Secrets, tmp_path: Path) -> None:
    secrets.folder.mkdir(mode=0o700)
    other = tmp_path / "other"
    other.write_text(KEY)
    other.chmod(0o600)
    (secrets.folder / "gpt").symlink_to(other)
    with pytest.raises(ModelNotConfigured, match="is a link"):
        secrets.read(FILED)
    with pytest.raises(ModelNotConfigured, match="is a link"):
        secrets.write("gpt", "new")
    assert other.read_text() == KEY


def test_a_link_in_the_place_of_the_folder_is_refused(secrets: Secrets, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    secrets.folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelNotConfigured, match="is a link"):
        secrets.write("gpt", KEY)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_pipe_in_the_place_of_a_key_does_not_hang(secrets: Secrets) -> None:
    secrets.folder.mkdir(mode=0o700)
    os.mkfifo(secrets.folder / "gpt", 0o600)
    with pytest.raises(ModelNotConfigured, match="no ordinary file"):
        secrets.read(FILED)


def test_a_missing_file_is_named(secrets: Secrets) -> None:
    with pytest.raises(ModelNotConfigured, match="model gpt has no key") as caught:
        secrets.read(FILED)
    assert str(secrets.folder / "gpt") in caught.value.why
    assert "--key-stdin" in caught.value.then


def test_a_removed_key_is_gone(secrets: Secrets) -> None:
    secrets.write("gpt", KEY)
    assert secrets.remove("gpt")
    assert list(secrets.folder.iterdir()) == []
    assert not secrets.remove("gpt")


def test_a_key_is_removed_also_where_others_may_look(secrets: Secrets) -> None:
    secrets.write("gpt", KEY)
    secrets.folder.chmod(0o755)
    assert secrets.remove("gpt")


def test_a_variable_is_read_when_it_is_used(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", "old")
    assert secrets.read(NAMED) == "old"
    monkeypatch.setenv("ACME_KEY", f"{KEY}\n")
    assert secrets.read(NAMED) == KEY


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_or_empty_variable_is_named(
    secrets: Secrets, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("ACME_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("ACME_KEY", value)
    with pytest.raises(ModelNotConfigured, match="ACME_KEY is not set or empty"):
        secrets.read(NAMED)


def test_a_model_without_a_key_needs_none(secrets: Secrets) -> None:
    assert secrets.read(replace(FILED, key_source=KeySource.NONE)) is None


@pytest.mark.parametrize("key", ["", " \n", "two words", "line\nline", "schlüssel", "x" * 9000])
def test_what_can_be_no_key_is_refused_without_repeating_it(secrets: Secrets, key: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        secrets.write("gpt", key)
    assert not key.strip() or key not in str(caught.value)
    assert not (secrets.folder / "gpt").exists()


@pytest.mark.parametrize("name", ["../gpt", "a/b", "..", ".hidden", ""])
def test_a_name_never_leads_out_of_the_folder(secrets: Secrets, name: str) -> None:
    with pytest.raises(InvalidRequest):
        secrets.write(name, KEY)
    with pytest.raises(InvalidRequest):
        secrets.read(replace(FILED, name=name))
