"""Processes of one job: who is alive, who belongs to it, how all of it is killed.

Standard library only and light to import: the keeper runs this before the job starts. Reads Linux's ``/proc``.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator

PROC = "/proc"


def _fields(pid: int) -> list[str]:
    """Fields of ``/proc/PID/stat`` after the command name: state, parent, group, ...; empty if there is none."""
    try:
        with open(f"{PROC}/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib is slow
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def boot() -> str:
    """Id of this boot of the machine; start times count from it."""
    with open(f"{PROC}/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123
        return file.read().strip()


def started(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; None when it is gone or only waits to be reaped."""
    fields = _fields(pid)
    return int(fields[19]) if fields and fields[0] not in "ZX" else None


def processes() -> Iterator[int]:
    """Ids of all processes."""
    return (int(name) for name in os.listdir(PROC) if name.isdecimal())  # noqa: PTH208 - pathlib is slow


def descendants(root: int) -> set[int]:
    """Children of `root`, their children and so on, zombies left out. `root` must be their subreaper to see orphans."""
    parents: dict[int, int] = {}
    dead = set()
    for pid in processes():
        fields = _fields(pid)
        if fields:
            parents[pid] = int(fields[1])
            if fields[0] in "ZX":
                dead.add(pid)
    found: set[int] = set()
    frontier = {root}
    while frontier:
        frontier = {pid for pid, parent in parents.items() if parent in frontier} - found
        found |= frontier
    return found - dead


def remnants(home: str) -> set[int]:
    """Processes of a job whose keeper is gone: those whose environment says HOME=`home`, the job's own folder."""
    mark = f"HOME={home}".encode()
    me = os.getpid()
    return {pid for pid in processes() if pid != me and mark in _environment(pid) and started(pid) is not None}


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"{PROC}/{pid}/environ", "rb") as file:  # noqa: PTH123
            return file.read().split(b"\0")
    except OSError:
        return []


def kill_all(members: Callable[[], set[int]], seconds: float = 10.0) -> bool:
    """SIGKILL `members` again and again until there are none, so that a tree that grows is caught too.

    Each sweep stops everybody before it kills anybody: a stopped process cannot fork. False when some are left.
    """
    deadline = time.monotonic() + seconds
    while found := members():
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                send(pid, number)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def send(pid: int, number: int) -> None:
    """Send a signal; nothing happens when the process is gone or not ours."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def supported() -> bool:
    """Whether this machine has what the functions here read."""
    return os.path.exists(f"{PROC}/self/stat")  # noqa: PTH110 - pathlib is slow
