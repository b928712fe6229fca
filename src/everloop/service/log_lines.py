"""Lines of a file that a job may be writing to: by byte, never through a link, bounded whatever the job writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from everloop.errors import InvalidCursor

BYTES = 256 * 1024
"""Most bytes read for one page, and of the file's end for a tail."""
LINE = 16 * 1024
"""Most bytes of a line; a longer one is told in pieces."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A stretch of a file."""

    pieces: list[tuple[int, bytes]]
    """Lines without their ends, each with the byte at which it begins."""
    next: int
    """Byte after the last of them."""
    more: bool
    """Whether there is more to read now."""


def read(path: Path | None, offset: int, limit: int, *, whole: bool) -> Lines:
    """At most `limit` lines from a byte on; a last line without an end only when the file is `whole`.

    InvalidCursor beyond the end of the file. A missing file has no lines.
    """
    with _opened(path) as (descriptor, size):
        if descriptor is None:
            return Lines([], offset, more=False)
        if offset > size:
            raise InvalidCursor("this cursor is beyond the log", then="Begin again without one")
        data = os.pread(descriptor, BYTES, offset)
    last = whole and offset + len(data) >= size
    place, pieces = 0, list[tuple[int, bytes]]()
    while len(pieces) < limit and (step := _step(data, place, last=last)):
        end, after = step
        pieces.append((offset + place, data[place:end]))
        place = after
    more = _step(data, place, last=last) is not None or offset + len(data) < size
    return Lines(pieces, offset + place, more)


def last(path: Path | None, lines: int, *, whole: bool) -> tuple[int, int]:
    """Byte at which the last `lines` lines begin, and how many there are; those of the file's last `BYTES` count."""
    with _opened(path) as (descriptor, size):
        if descriptor is None:
            return 0, 0
        begin = max(0, size - BYTES)
        data = os.pread(descriptor, BYTES, begin)
    place = data.find(b"\n") + 1 if begin else 0  # what stands before is the end of a line that began earlier
    starts = []
    while step := _step(data, place, last=whole):
        starts.append(place)
        place = step[1]
    kept = starts[-lines:] if lines else []
    return begin + (kept[0] if kept else place), len(kept)


def _step(data: bytes, place: int, *, last: bool) -> tuple[int, int] | None:
    """Where the line at `place` ends and the next begins; None when it has not ended yet."""
    found = data.find(b"\n", place, place + LINE + 1)
    if found >= 0:
        return found, found + 1
    if len(data) - place > LINE:
        cut = place + LINE
        while cut > place + LINE - 4 and data[cut] & 0xC0 == 0x80:  # not inside a letter
            cut -= 1
        return cut, cut
    return (len(data), len(data)) if last and place < len(data) else None


@contextmanager
def _opened(path: Path | None) -> Iterator[tuple[int | None, int]]:
    """A descriptor of a regular file and its size; None when there is none."""
    try:
        descriptor = os.open(path or "", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None, 0
        return
    try:
        facts = os.fstat(descriptor)
        yield (descriptor, facts.st_size) if stat.S_ISREG(facts.st_mode) else (None, 0)
    finally:
        os.close(descriptor)
