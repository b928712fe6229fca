"""Workers that are forked from a process which has imported what a worker imports, so that they start at once.

Most of a short run would otherwise be a worker's imports. What is forked is a worker like any other: a process of its
own, with its own environment, output and end. The process it is forked from is started at the first use, is a child of
the tests' process, holds no database and ends with it.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

WORKER = ("-m", "everloop.loop.worker")
LONGEST = 1 << 20
"""Bytes of a request, at most."""


class Forked:
    """A process, with what `subprocess.Popen` has of it."""

    def __init__(self, pid: int, ending: int) -> None:
        self.pid, self._ending = pid, ending
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its status when it has ended: that of its exit, or less than 0 for a signal."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Its status, once it has ended."""
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(f"worker {self.pid}", timeout or 0)
        return status

    def kill(self) -> None:
        """SIGKILL, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """SIGTERM, unless it has ended."""
        self.send_signal(signal.SIGTERM)

    def send_signal(self, how: int) -> None:
        """A signal, unless it has ended."""
        if self.poll() is None:
            try:
                os.kill(self.pid, how)
            except ProcessLookupError:
                return

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is not None:
            return self.returncode
        looking = select.poll()
        looking.register(self._ending, select.POLLIN)
        if looking.poll(None if timeout is None else timeout * 1000):
            told = os.read(self._ending, 64)
            assert told, "the process that workers are forked from has ended"
            self.returncode = os.waitstatus_to_exitcode(int(told))
            os.close(self._ending)
        return self.returncode


_SOURCE: list[tuple[socket.socket, subprocess.Popen[bytes]]] = []
"""The process that workers are forked from, and the line to it."""
_turn = threading.Lock()


def start(words: Sequence[str], environment: Mapping[str, str], output: IO[bytes]) -> Forked:
    """Fork a worker: `words` are `WORKER` or a script, and their arguments."""
    with _turn:
        if not _SOURCE:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST)
            command = [sys.executable, __file__, str(theirs.fileno())]
            _SOURCE.append((ours, subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])))
            theirs.close()
        line = _SOURCE[0][0]
        ending, told = os.pipe()
        request = {"words": list(words), "environment": dict(environment), "folder": str(Path.cwd())}
        socket.send_fds(line, [json.dumps(request).encode()], [output.fileno(), told])
        os.close(told)
        return Forked(int(line.recv(64)), ending)


def close() -> None:
    """End the process that workers are forked from; those that live go on."""
    while _SOURCE:
        line, process = _SOURCE.pop()
        line.close()
        process.wait(60)


def _serve(line: socket.socket) -> None:
    """Fork on request, and tell how each ended, until the line is closed."""
    living: dict[int, tuple[int, int]] = {}
    while True:
        ready, _, _ = select.select([line, *living], [], [])
        for pidfd in [one for one in ready if one is not line]:
            pid, told = living.pop(pidfd)
            os.write(told, str(os.waitpid(pid, 0)[1]).encode())
            os.close(told)
            os.close(pidfd)
        if line in ready:
            request, descriptors, _, _ = socket.recv_fds(line, LONGEST, 2)
            if not request:
                return
            output, told = descriptors
            if (pid := os.fork()) == 0:
                for number in (line.fileno(), told, *living, *(other for _, other in living.values())):
                    os.close(number)
                _become(json.loads(request), output)
            os.close(output)
            living[os.pidfd_open(pid)] = (pid, told)
            line.send(str(pid).encode())


def _become(request: dict[str, Any], output: int) -> NoReturn:
    """Be the worker that was asked for, from here on."""
    status = 1
    try:
        for number in (1, 2):
            os.dup2(output, number)
        os.close(output)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:0] = [place for place in places if place and place not in sys.path]
        _work(request["words"])
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as an interpreter ends that nobody catches it for
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _work(words: list[str]) -> None:
    if tuple(words[:2]) == WORKER:
        sys.argv = words[1:]
        worker.main(Settings(), drain="--drain" in words)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    import pydantic_ai.models.openai  # noqa: F401 - what a worker imports when it asks a model

    from everloop.loop import worker
    from everloop.settings import Settings

    sys.path.pop(0)  # the folder of these tests, which a worker does not see
    _serve(socket.socket(fileno=int(sys.argv[1])))
