"""Where a server of ours listens: a unix socket or a port, and the process around it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from everloop.errors import Conflict, InvalidRequest
from everloop.events import Json

HOST = "127.0.0.1"
"""The address that a port is bound to unless another is named."""
CONNECTIONS = 256
"""Open connections at once."""
GRACE_SECONDS = 10
"""Seconds that requests under way get when the server is told to end."""
BACKLOG = 128


@contextmanager
def unix_socket(path: Path) -> Iterator[socket.socket]:
    """A listening socket of mode 0600 at `path`, taken away afterwards.

    Conflict when somebody listens there. InvalidRequest when its folder is not ours alone to write, or when something
    other than a socket is there, a symbolic link included.
    """
    path = path.absolute()
    listener = _bound(path)
    made = path.lstat()
    try:
        yield listener
    finally:
        listener.close()
        with suppress(FileNotFoundError):
            left = path.lstat()
            if (left.st_dev, left.st_ino) == (made.st_dev, made.st_ino):
                path.unlink()


@contextmanager
def loopback_port(port: int) -> Iterator[socket.socket]:
    """A listening socket on 127.0.0.1; port 0 takes a free one. Conflict when the port is taken."""
    with tcp_port(HOST, port) as listener:
        yield listener


@contextmanager
def tcp_port(host: str, port: int, backlog: int = BACKLOG) -> Iterator[socket.socket]:
    """A listening socket on an address of this machine; port 0 takes a free one.

    Conflict when the port cannot be used, InvalidRequest when the host is no address of this machine.
    """
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:  # gaierror is one
        why = error.strerror or str(error)
        raise InvalidRequest(
            f"{host} cannot be listened on", why=why, then="Name an address of this machine"
        ) from error
    with socket.socket(family, kind) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(place)
            listener.listen(backlog)
        except OSError as error:
            why = error.strerror or str(error)
            if error.errno == errno.EADDRNOTAVAIL:
                then = "Name an address of this machine"
                raise InvalidRequest(f"{host} cannot be listened on", why=why, then=then) from error
            raise Conflict(f"port {port} cannot be used", why=why, then="Name another port") from error
        yield listener


def _bound(path: Path) -> socket.socket:
    folder = _folder(path.parent)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # two servers must not both find the same socket stale
        _clear(path)
        mask = os.umask(0o177)  # the socket has its mode from its first moment
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise InvalidRequest(f"no socket can be made at {path}", why=why, then="Name another path") from error
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(folder)
    return listener


def _folder(folder: Path) -> int:
    """The socket's folder, opened. InvalidRequest when others could put another socket in its place."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InvalidRequest(f"{folder} is no folder that can be used", why=error.strerror or str(error)) from error
    found = os.fstat(opened)
    if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return opened
    os.close(opened)
    why = "it must belong to the account that serves, and nobody else may write to it"
    raise InvalidRequest(f"{folder} cannot hold the socket", why=why, then="Make a folder with mode 0700")


def _clear(path: Path) -> None:
    """Take a socket away that nobody listens on; anything else stays."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise InvalidRequest(f"{path} is not a socket", why="it is left as it is", then="Name another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.setblocking(False)  # a queue that is full would hold us up for as long as it is
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:
            if error.errno != errno.EAGAIN:  # a full queue: somebody is there
                raise
    raise Conflict(f"{path} is in use", why="a server listens on it", then="End it, or name another path")


@contextmanager
def ready_file(path: Path | None, document: Json) -> Iterator[None]:
    """A file of mode 0600 that says where to connect, while the block lasts; nothing for None."""
    if path is None:
        yield
        return
    try:
        handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file)
        Path(made).replace(path)
    except OSError as error:
        why = error.strerror or str(error)
        raise InvalidRequest(f"{path} could not be written", why=why, then="Name another file") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def configured(app: ASGIApp) -> uvicorn.Config:
    """How the server runs: nothing of a request is logged, nothing of the server is told."""
    return uvicorn.Config(
        app,
        loop="auto" if sys.platform == "win32" else "uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def serve(app: ASGIApp | uvicorn.Config, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is called once requests are answered."""
    server = _Server(app if isinstance(app, uvicorn.Config) else configured(app), ready)
    with _ended_by_signals(server):
        server.run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """While the server runs it has handlers of its own; before, a signal must not be lost, and after, it raises again
    what it caught and has acted upon.
    """

    def end(*_: object) -> None:
        server.should_exit = True

    before = {one: signal.signal(one, end) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
