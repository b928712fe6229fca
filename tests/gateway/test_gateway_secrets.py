from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from everloop.errors import InvalidRequest, ModelNotConfigured, StorageFull
from everloop.gateway.base import KeySource, ModelEntry
from everloop.gateway.secrets import Secrets
from everloop.paths import Home

KEY = "sk-test-0123456789-not-for-others"
FILED = ModelEntry(name="gpt", provider="openai", model="gpt-5", key_source=KeySource.FILE)
ID = "0123456789abcdef" * 2
NAMED = replace(FILED, key_source=KeySource.ENVIRONMENT, key_name="ACME_KEY")


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return Secrets(Home(tmp_path))


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def _filed(made: str) -> ModelEntry:
    return replace(FILED, key_name=made)


def test_a_key_is_read_as_it_was_written(secrets: Secrets) -> None:
    assert secrets.read(_filed(secrets.write(f"  {KEY}\n"))) == KEY


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_only_its_owner_may_read_it_whatever_the_umask(secrets: Secrets, umask: int) -> None:
    secrets.folder.mkdir(mode=0o700)
    before = os.umask(umask)
    try:
        made = secrets.write(KEY)
    finally:
        os.umask(before)
    assert _mode(secrets.folder / made) == 0o600


def test_the_folder_is_for_its_owner_alone(secrets: Secrets) -> None:
    secrets.write(KEY)
    assert _mode(secrets.folder) == 0o700


def test_each_key_has_a_file_of_its_own(secrets: Secrets) -> None:
    first, second = secrets.write("first"), secrets.write("second")
    assert sorted(found.name for found in secrets.folder.iterdir()) == sorted([first, second])
    assert (secrets.read(_filed(first)), secrets.read(_filed(second))) == ("first", "second")


def test_a_write_that_fails_leaves_nothing(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFull, match="No space left") as caught:
        secrets.write(KEY)
    assert KEY not in str(caught.value)
    assert list(secrets.folder.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_may_use_is_refused_with_the_remedy(secrets: Secrets, mode: int) -> None:
    made = secrets.write(KEY)
    (secrets.folder / made).chmod(mode)
    with pytest.raises(ModelNotConfigured) as caught:
        secrets.read(_filed(made))
    assert f"chmod 0600 {secrets.folder / made}" in caught.value.then
    assert KEY not in str(caught.value)


def test_a_folder_that_others_may_use_is_refused_with_the_remedy(secrets: Secrets) -> None:
    made = secrets.write(KEY)
    secrets.folder.chmod(0o755)
    with pytest.raises(ModelNotConfigured, match=f"chmod 0700 {secrets.folder}"):
        secrets.read(_filed(made))
    with pytest.raises(ModelNotConfigured, match="chmod 0700"):
        secrets.write(KEY)


def test_what_belongs_to_another_account_is_refused(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    made = secrets.write(KEY)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(ModelNotConfigured, match=f"another account .uid {me}") as caught:
        secrets.read(_filed(made))
    assert KEY not in str(caught.value)
    with pytest.raises(ModelNotConfigured, match="another account"):
        secrets.write(KEY)


def test_a_link_in_the_place_of_a_key_is_not_read(secrets: Secrets, tmp_path: Path) -> None:
    secrets.folder.mkdir(mode=0o700)
    other = tmp_path / "other"
    other.write_text(KEY)
    other.chmod(0o600)
    (secrets.folder / ID).symlink_to(other)
    with pytest.raises(ModelNotConfigured, match="is a link"):
        secrets.read(_filed(ID))


def test_a_link_in_the_place_of_the_folder_is_refused(secrets: Secrets, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    secrets.folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelNotConfigured, match="is a link"):
        secrets.write(KEY)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_pipe_in_the_place_of_a_key_does_not_hang(secrets: Secrets) -> None:
    secrets.folder.mkdir(mode=0o700)
    os.mkfifo(secrets.folder / ID, 0o600)
    with pytest.raises(ModelNotConfigured, match="no ordinary file"):
        secrets.read(_filed(ID))


def test_a_missing_file_is_named(secrets: Secrets) -> None:
    with pytest.raises(ModelNotConfigured, match="model gpt has no key") as caught:
        secrets.read(_filed(ID))
    assert str(secrets.folder / ID) in caught.value.why
    assert "--key-stdin" in caught.value.then


def test_a_removed_key_is_gone(secrets: Secrets) -> None:
    made = secrets.write(KEY)
    assert secrets.remove(made)
    assert list(secrets.folder.iterdir()) == []
    assert not secrets.remove(made)


def test_a_key_is_removed_also_where_others_may_look(secrets: Secrets) -> None:
    made = secrets.write(KEY)
    secrets.folder.chmod(0o755)
    assert secrets.remove(made)


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
        secrets.write(key)
    assert not key.strip() or key not in str(caught.value)
    assert not secrets.folder.exists()


@pytest.mark.parametrize("name", ["../gpt", "a/b", "..", ".hidden", "", "gpt"])
def test_what_is_no_id_never_leads_to_a_file(secrets: Secrets, name: str) -> None:
    secrets.write(KEY)
    with pytest.raises(ModelNotConfigured, match="names no key file"):
        secrets.read(_filed(name))
    assert not secrets.remove(name)
