"""The line that says where a server answers, once it does."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

LOOK_SECONDS = 0.05
"""Wait between two looks at the ready file."""


@contextmanager
def announced(ready: Path | None) -> Iterator[Path]:
    """The ready file for a server of the block, `ready` or one of our own; what it says goes to standard error."""
    with TemporaryDirectory(prefix="everloop-") as folder:
        path = Path(folder) / "ready.json" if ready is None else ready
        # one that is there already was left by another server
        before = _stamp(path)
        over = threading.Event()
        watching = threading.Thread(target=_watch, args=(path, before, over), daemon=True)
        # the server waits for these signals in the main thread: they must not come to this one
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        watching.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            yield path
        finally:
            over.set()
            watching.join()


def _watch(path: Path, before: tuple[int, int] | None, over: threading.Event) -> None:
    while not over.wait(LOOK_SECONDS):
        if _stamp(path) in {None, before}:
            continue
        try:
            url = json.loads(path.read_text(encoding="utf-8"))["url"]
        except FileNotFoundError:
            # it ended in between
            return
        click.echo(f"Serving on {url}; Ctrl-C ends it.", err=True)
        return


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
