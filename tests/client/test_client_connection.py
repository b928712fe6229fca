"""Which server and key are chosen, and that a key reaches no server it was not given for."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from everloop.client import Connection, resolve, saved
from everloop.client.saved import Saved
from everloop.errors import EverloopError, InvalidRequest

A, B = "https://a.example", "https://b.example"


def local(home: Path, url: str = "http://127.0.0.1:8711", key: str = "elk_l_x") -> None:
    document = {"url": url, "api_key": key, "workspace_id": "local", "project_id": "local"}
    (home / "connection.json").write_text(json.dumps(document))


def test_without_any_server_the_error_says_how() -> None:
    with pytest.raises(InvalidRequest, match=r"no server is known.*el up.*el auth config"):
        resolve()


def test_arguments_beat_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERLOOP_BASE_URL", B)
    monkeypatch.setenv("EVERLOOP_PROJECT_ID", "env")
    found = resolve(A, "key", "w", "p")
    assert (found.base_url, found.api_key, found.workspace_id, found.project_id) == (A, "key", "w", "p")


def test_own_variables_beat_those_of_the_other_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVLOOP_BASE_URL", B)
    monkeypatch.setenv("ENVLOOP_API_KEY", "theirs")
    assert (resolve().base_url, resolve().api_key) == (B, "theirs")
    monkeypatch.setenv("EVERLOOP_BASE_URL", A)
    monkeypatch.setenv("EVERLOOP_API_KEY", "ours")
    assert (resolve().base_url, resolve().api_key) == (A, "ours")


def test_what_was_saved_comes_after_the_environment(monkeypatch: pytest.MonkeyPatch, everloop_home: Path) -> None:
    local(everloop_home)
    saved.write(Saved(A, "w", "p", "saved", A))
    assert resolve() == Connection(A, "saved", "w", "p", "saved", "saved")
    monkeypatch.setenv("EVERLOOP_BASE_URL", B)
    assert resolve() == Connection(B, None, None, None, "EVERLOOP_*", None)


def test_the_server_of_this_machine_comes_last(everloop_home: Path) -> None:
    local(everloop_home)
    expected = Connection("http://127.0.0.1:8711", "elk_l_x", "local", "local", "el up", "el up")
    assert resolve() == expected


def test_a_variable_that_names_only_a_key_goes_with_what_was_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    saved.write(Saved(A, "w", "p", "saved", A))
    monkeypatch.setenv("EVERLOOP_API_KEY", "other")
    found = resolve()
    assert (found.base_url, found.api_key) == (A, "other")
    assert (found.workspace_id, found.project_id) == (None, None), "ids of another key would name another project"


@pytest.mark.parametrize(
    ("variables", "base_url"),
    [
        ({"EVERLOOP_BASE_URL": B, "EVERLOOP_API_KEY": "secret"}, A),
        ({"ENVLOOP_BASE_URL": B, "ENVLOOP_API_KEY": "secret"}, A),
        ({"ENVLOOP_API_KEY": "secret"}, A),
        ({"ENVLOOP_API_KEY": "secret"}, None),
    ],
    ids=str,
)
def test_a_key_is_sent_to_no_other_server(
    variables: dict[str, str], base_url: str | None, monkeypatch: pytest.MonkeyPatch, everloop_home: Path
) -> None:
    local(everloop_home)
    saved.write(Saved(None, None, None, "secret", B))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert resolve(base_url).api_key != "secret"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://a.example/", A),
        ("https://a.example/v1", A),
        ("https://a.example/api/v1/", f"{A}/api"),
        ("https://a.example/proxy/api", f"{A}/proxy/api"),
        ("http://localhost:8711", "http://localhost:8711"),
        ("http://[::1]:8711/v1", "http://[::1]:8711"),
    ],
)
def test_a_base_url_has_one_form(given: str, kept: str) -> None:
    assert resolve(given).base_url == kept


@pytest.mark.parametrize(
    "wrong",
    [
        "a.example",
        "http://a.example",
        "http://192.168.1.2:8711",
        "http://127.0.0.1.evil.example",
        "https://user:secret@a.example",
        "https://a.example/?q",
        "https://a.example/#f",
        "https://a.example/../x",
        "https://a.example:port",
        "ftp://a.example",
        "https://",
        "https://a.example/a b",
        "",
        " ",
    ],
)
def test_a_base_url_that_cannot_be_trusted_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        resolve(wrong, "key")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("key", ["a b", "a\nb", "é", "x" * 513])
def test_a_key_of_other_characters_is_refused_without_being_repeated(key: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        resolve(A, key)
    assert key not in str(raised.value)


def test_files_are_for_the_owner_only(config_folder: Path) -> None:
    saved.write(Saved(A, "w", "p", "key", A))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [config_folder, *config_folder.iterdir()]}
    assert modes == {"everloop": 0o700, "config.toml": 0o600, "auth.json": 0o600}
    assert saved.read() == Saved(A, "w", "p", "key", A)


def test_forgetting_the_key_leaves_the_base_url(config_folder: Path) -> None:
    saved.write(Saved(A, "w", "p", "key", A))
    assert saved.forget_key() and not saved.forget_key()
    assert saved.read() == Saved(A)
    assert not (config_folder / "auth.json").exists()


@pytest.mark.parametrize("name", ["config.toml", "auth.json"])
def test_a_damaged_file_is_told_and_not_overlooked(name: str, config_folder: Path) -> None:
    config_folder.mkdir()
    (config_folder / name).write_text("{{")
    with pytest.raises(InvalidRequest, match="damaged"):
        resolve()


def test_a_damaged_connection_of_this_machine_is_told(everloop_home: Path) -> None:
    (everloop_home / "connection.json").write_text("{")
    with pytest.raises(EverloopError, match=r"connection\.json cannot be read"):
        resolve()


def test_no_repr_shows_a_key() -> None:
    texts = [repr(Connection(A, "secret")), repr(Saved(A, api_key="secret"))]
    assert not any("secret" in text for text in texts)
