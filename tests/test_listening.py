from __future__ import annotations

import os
import socket
import stat
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from everloop.errors import Conflict, InvalidRequest
from everloop.listening import loopback_port, ready_file, tcp_port, unix_socket


def test_a_socket_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "s"
    mask = os.umask(0)
    try:
        with unix_socket(path):
            found = path.lstat()
            assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600
        assert os.umask(0) == 0  # the process's own mask is as it was
    finally:
        os.umask(mask)


def test_a_socket_is_taken_away(tmp_path: Path) -> None:
    with unix_socket(tmp_path / "s"):
        pass
    assert not list(tmp_path.iterdir())


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with unix_socket(path), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))


def test_a_socket_somebody_listens_on_stays(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with unix_socket(path) as first:
        with pytest.raises(Conflict), unix_socket(path):
            pass
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(path))
            first.accept()[0].close()


def test_a_socket_that_took_its_place_stays(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as other:
        with unix_socket(path):
            path.unlink()
            other.bind(str(path))
        assert path.exists()


@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder"])
def test_anything_else_in_its_place_stays(tmp_path: Path, kind: str) -> None:
    path, target = tmp_path / "s", tmp_path / "target"
    if kind == "file":
        path.write_text("kept")
    elif kind == "folder":
        path.mkdir()
    else:
        if kind == "link":
            with socket.socket(socket.AF_UNIX) as dead:
                dead.bind(str(target))
        path.symlink_to(target)
    before = sorted(one.name for one in tmp_path.iterdir())
    with pytest.raises(InvalidRequest), unix_socket(path):
        pass
    assert sorted(one.name for one in tmp_path.iterdir()) == before


def test_a_socket_whose_queue_is_full_stays(tmp_path: Path) -> None:
    path, callers = tmp_path / "s", ExitStack()
    with unix_socket(path), callers:
        with suppress(BlockingIOError):
            while True:
                caller = callers.enter_context(socket.socket(socket.AF_UNIX))
                caller.setblocking(False)
                caller.connect(str(path))
        second = threading.Thread(target=_taken, args=(path, found := []), daemon=True)
        second.start()
        second.join(10)
        assert found == [Conflict]
        assert path.exists()


def _taken(path: Path, found: list[type[BaseException]]) -> None:
    try:
        with unix_socket(path):
            pass
    except Conflict as error:
        found.append(type(error))


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o770, 0o720])
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(InvalidRequest), unix_socket(tmp_path / "s"):
        pass


def test_a_folder_of_another_account_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(InvalidRequest), unix_socket(tmp_path / "s"):
        pass


@pytest.mark.parametrize("name", ["none/s", "x" * 120])
def test_a_path_that_cannot_be_is_a_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest), unix_socket(tmp_path / name):
        pass


def test_a_port_is_on_loopback_only() -> None:
    with loopback_port(0) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(Conflict), loopback_port(port):
            pass


def test_the_ready_file_is_for_its_owner_and_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    path.write_text("old")
    path.chmod(0o644)
    with ready_file(path, {"url": "x"}):
        assert path.read_text() == '{"url": "x"}'
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert list(tmp_path.iterdir()) == [path]
    assert not path.exists()


def test_a_ready_file_is_never_written_through_a_link(tmp_path: Path) -> None:
    target, path = tmp_path / "target", tmp_path / "ready.json"
    target.write_text("kept")
    path.symlink_to(target)
    with ready_file(path, {}):
        assert target.read_text() == "kept"


def test_a_ready_file_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest), ready_file(tmp_path / "none" / "ready.json", {}):
        pass


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-name.invalid", "not a host"])
def test_a_host_that_is_not_this_machine_is_a_clear_error(host: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot be listened on"), tcp_port(host, 0):
        pass


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0.0.0.0"])
def test_a_port_is_on_the_host_that_was_named(host: str) -> None:
    with tcp_port(host, 0) as listener, socket.create_connection(("localhost", listener.getsockname()[1])):
        pass
