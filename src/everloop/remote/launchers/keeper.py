"""The keeper of one local job: it outlives the worker, starts the command at most once and writes how it ended.

It is the leader of its own session and the subreaper of the job's tree, so nothing the command starts can slip away. It
stands in the job's folder; its environment is the command's; its last argument is the descriptor on which the launcher
waits for one word: ``started``, ``taken`` or ``errno N``. Standard library only: it is started with ``-I -S``.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import sys
import time

from everloop.remote.launchers import process_tree

ROOM = 256
"""Bytes of ``rc`` reserved before the start, so that a disk that fills up later cannot swallow the ending."""
_WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_SUBREAPER, _PDEATHSIG = 36, 1
_libc = ctypes.CDLL(None)


def main() -> None:
    """Detach, then keep the job; the first process returns at once so that the worker is left without a zombie."""
    if os.fork():
        os._exit(0)
    os.setsid()
    _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    report = int(sys.argv[-1])
    try:
        _keep(report)
    except OSError as error:
        _say(report, f"errno {error.errno}")
        raise


def _keep(report: int) -> None:
    with open("spec.json", encoding="utf-8") as file:  # noqa: PTH123
        spec = json.load(file)
    part = f"rc.{os.getpid()}"
    room = _reserve(part)
    if not _claim():
        os.unlink(part)  # noqa: PTH108
        _say(report, "taken")
        return
    begun = time.monotonic()
    ended, returncode = "cancelled", None
    if os.path.exists("cancelled"):  # noqa: PTH110 - cancelled before it was started
        _say(report, "started")
    else:
        child = _spawn(spec["argv"], report)
        _say(report, "started")
        ended, returncode = _see_through(child, begun + spec["time_limit_seconds"])
    _write(room, {"ended": ended, "returncode": returncode, "seconds": round(time.monotonic() - begun, 3)})
    _publish(part)


def _see_through(child: int, deadline: float) -> tuple[str, int | None]:
    """Wait for the end, leave nobody of the tree alive, and say how it ended and with which return code."""
    timed_out, status = _watch(child, deadline)
    process_tree.kill_all(_others)
    if status is None:
        status = os.waitpid(child, 0)[1]
    _reaped(child)  # the rest of the tree, so that no zombie is left to a machine whose init does not reap
    code = os.waitstatus_to_exitcode(status)
    if timed_out:
        return "timeout", code
    if code >= 0:
        return "exited", code
    return ("cancelled" if os.path.exists("cancelled") else "signal"), code  # noqa: PTH110


def _claim() -> bool:
    """Create ``keeper`` whole and exclusively: whoever succeeds may start the command, and nobody after it."""
    pid = os.getpid()
    document = {"pid": pid, "started": process_tree.started(pid), "boot": process_tree.boot(), "at": time.time()}
    part = f"keeper.{pid}"
    with open(part, "w", encoding="ascii") as file:  # noqa: PTH123
        json.dump(document, file)
    try:
        os.link(part, "keeper")
    except FileExistsError:
        return False
    finally:
        os.unlink(part)  # noqa: PTH108
    return True


def _reserve(part: str) -> int:
    room = os.open(part, os.O_CREAT | os.O_RDWR | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    if os.write(room, b" " * ROOM) < ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return room


def _spawn(argv: list[str], report: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.setpgid(0, 0)
        os.close(report)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        os.execvp(argv[0], argv)  # noqa: S606 - running the job's command is what this is for
    except OSError as error:
        os.write(2, f"cannot run {argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _watch(child: int, deadline: float) -> tuple[bool, int | None]:
    """Wait until the command ends, the deadline passes or somebody asks to stop: (timed out, wait status)."""
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return True, None
        caught = signal.sigtimedwait(_WATCHED, min(left, 3600.0))
        if caught is None:
            continue
        if caught.si_signo != signal.SIGCHLD:
            return False, None
        status = _reaped(child)
        if status is not None:
            return False, status


def _reaped(child: int) -> int | None:
    """Reap whoever is dead; the wait status of `child` if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


def _others() -> set[int]:
    me = os.getpid()
    return (process_tree.descendants(me) | process_tree.remnants(os.environ["HOME"])) - {me}


def _write(room: int, ending: dict[str, str | int | float | None]) -> None:
    os.pwrite(room, json.dumps(ending).ljust(ROOM).encode(), 0)
    os.fsync(room)


def _publish(part: str) -> None:
    """Make the ending visible, whole and once; one that a launcher wrote in the meantime stands."""
    try:
        os.link(part, "rc")
    except FileExistsError:
        return
    finally:
        os.unlink(part)  # noqa: PTH108


def _say(report: int, word: str) -> None:
    try:
        os.write(report, word.encode())
        os.close(report)
    except OSError:  # the worker that asked is gone; the next one reads the folder
        return
