"""A child process that ends when its parent does, however the parent ended.

The parent holds the writing end of a pipe, its lifeline; the kernel closes it with the parent, SIGKILL included, and
the child, which waits at the other end, asks itself to end as SIGTERM would.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 20.0
"""Seconds a child gets to end in order before it is killed."""


@dataclass(frozen=True, slots=True)
class Child:
    """A running child."""

    process: subprocess.Popen[bytes]
    """Its process, leader of a group of its own."""
    lifeline: int
    """The pipe's writing end; closed by `end`, or by the death of this process."""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def poll(self) -> int | None:
        """Its exit status; None while it lives."""
        return self.process.poll()

    def ask(self) -> None:
        """Ask it to end."""
        self.process.terminate()

    def end(self, patience: float = PATIENCE) -> None:
        """Ask it to end, wait, and kill it when it has not after `patience` seconds."""
        self.ask()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with suppress(OSError):
            os.close(self.lifeline)


def start(
    module: str,
    arguments: Sequence[str] = (),
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    descriptors: Sequence[int] = (),
) -> Child:
    """Run ``python -m MODULE`` as a child; what it prints is appended to `log`, which gets mode 0600.

    It leads a process group: Ctrl-C at a terminal reaches this process only, which decides. `environment` is added to
    ours; `descriptors` stay open in the child under their numbers.
    """
    theirs, ours = os.pipe()
    argv = [sys.executable, "-m", "everloop.child", str(theirs), module, *arguments]
    try:
        with open(log, "ab", opener=_private) as told:  # Path.open takes no opener
            process = subprocess.Popen(
                argv,
                env=dict(os.environ) | dict(environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=told,
                process_group=0,
                pass_fds=(theirs, *descriptors),
            )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return Child(process, ours)


def _private(path: str, flags: int) -> int:
    opened = os.open(path, flags | os.O_CLOEXEC, 0o600)
    os.fchmod(opened, 0o600)  # a log of an earlier version may be open to others
    return opened


def main() -> None:
    """Be the child: wait for the parent's end in the background, and run the module as a program."""
    lifeline, module, *arguments = sys.argv[1:]
    descriptor = int(lifeline)
    os.set_inheritable(descriptor, False)  # it is for this process, not for what it starts
    threading.Thread(target=_end_with_parent, args=(descriptor,), name="lifeline", daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with_parent(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass  # nothing is ever written
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
