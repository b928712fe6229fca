"""Pages of a job's log: what the system says of the job, with what its process wrote in between.

A reader sees one sequence: accepted, started, the lines of ``job.log``, ended. A cursor is a place in it: system lines
told at the head, bytes of the file read, whether the end was told. So it stays good while the log grows.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from everloop.errors import InvalidCursor, InvalidLimit, InvalidRequest
from everloop.events import Json, JsonValue
from everloop.paths import JobPaths
from everloop.remote.launchers import folder
from everloop.service import log_lines
from everloop.service.pages import checked_limit, cursor, place_of
from everloop.store.jobs import ENDED, JobRow
from everloop.values import iso

SOURCES = ("all", "system", "runtime")
"""What a reader may ask for."""
MOST = 1000
"""Most lines of a page, and of a tail."""
DEFAULT = 200
"""Lines of a page when the reader names no number."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the sequence."""

    heads: int = 0
    """System lines told at its head."""
    offset: int = 0
    """Bytes of the file read."""
    ended: bool = False
    """Whether its end was told."""

    def cursor(self) -> str:
        """The place as the text a reader gives back."""
        return cursor((str(self.heads), str(self.offset), str(int(self.ended))))

    @classmethod
    def read(cls, text: str) -> Place:
        """The place of a cursor. InvalidCursor for a text that is none."""
        heads, offset, ended = place_of(text, 3) or ("", "", "")
        numbers = heads.isascii() and heads.isdecimal() and offset.isascii() and offset.isdecimal()
        if not numbers or len(heads) > 1 or len(offset) > 15 or ended not in {"0", "1"}:
            raise InvalidCursor("this cursor is not of a log", then="Begin again without one")
        return cls(int(heads), int(offset), ended == "1")


@dataclass(frozen=True, slots=True)
class LogRequest:
    """What a reader asks for."""

    source: str
    """One of `SOURCES`."""
    limit: int
    """Most lines of the page."""
    tail: int | None
    """Begin so many lines before the end; None: at the place."""
    place: Place
    """Where to begin when there is no tail."""

    @classmethod
    def checked(cls, source: str | None, tail: JsonValue, limit: JsonValue, cursor: str | None) -> LogRequest:
        """The request, if its fields can be accepted. InvalidLimit or InvalidCursor otherwise."""
        if source is not None and source not in SOURCES:
            raise InvalidRequest(f"source {source!r:.80} is not known", then=f"Known: {', '.join(SOURCES)}")
        if tail is not None and cursor is not None:
            raise InvalidLimit("tail and cursor exclude each other", then="Leave one out")
        most = checked_limit(DEFAULT if limit is None else limit, MOST)
        last = None if tail is None else checked_limit(tail, MOST)
        return cls(source or "all", most, last, Place() if cursor is None else Place.read(cursor))


def page(row: JobRow, paths: JobPaths, asked: LogRequest) -> Json:
    """The page. A line still being written waits until it ends, or the job does."""
    over = row.state in ENDED
    heads = _heads(row, paths) if asked.source != "runtime" else []
    ends = [_end(row)] if over and asked.source != "runtime" else []
    log = paths.log if asked.source != "system" else None
    place = asked.place if asked.tail is None else _tail_place(log, asked.tail, len(heads), len(ends), whole=over)
    items: list[JsonValue] = list(heads[place.heads : place.heads + asked.limit])
    told = place.heads + len(items)
    lines = log_lines.read(log, place.offset, asked.limit - len(items), whole=over)
    items += [_runtime(start, line) for start, line in lines.pieces]
    more, ended = lines.more or told < len(heads), place.ended or not ends
    if over and not more and not ended and len(items) < asked.limit:
        items, ended = [*items, *ends], True
    more = more or (over and not ended)
    return {
        "items": items,
        "next_cursor": Place(told, lines.next, ended and over).cursor(),
        "has_more": more,
        "eof": over and not more,
    }


def _tail_place(log: Path | None, tail: int, heads: int, ends: int, *, whole: bool) -> Place:
    """Where the last `tail` lines begin."""
    offset, lines = log_lines.last(log, max(0, tail - ends), whole=whole)
    return Place(max(0, heads - max(0, tail - ends - lines)), offset)


def _runtime(start: int, line: bytes) -> Json:
    return {"id": f"log-{start}", "content": safe(line.decode(errors="replace")), "source": "runtime"}


def _heads(row: JobRow, paths: JobPaths) -> list[Json]:
    who = f" from {row.subject}" if row.subject else f" of run {row.run}"
    heads = [_system("accepted", row.created_at, f"job {row.job_id}{who} accepted")]
    keeper = folder.read_object(paths.keeper)
    at = keeper.get("at") if keeper else None
    if row.state != "pending" and isinstance(at, int | float):
        where = f" on {row.host}" if row.host else ""
        heads.append(_system("started", str(iso(datetime.fromtimestamp(at, UTC))), f"job {row.job_id} started{where}"))
    return heads


def _end(row: JobRow) -> Json:
    seconds = f" after {row.seconds:.1f} s" if row.seconds is not None else ""
    why = f": {row.reason.splitlines()[0]}" if row.reason else ""
    text = f"job {row.job_id} ended {row.state}{seconds}{why}"
    level = "info" if row.state in {"completed", "cancelled"} else "error"
    return _system("ended", row.finished_at or row.updated_at, text, level)


def _system(phase: str, at: str, text: str, level: str = "info") -> Json:
    return {"id": phase, "content": safe(text), "at": at, "source": "system", "level": level, "phase": phase}


def safe(text: str) -> str:
    r"""`text` as one line that cannot act on a terminal: a control or format character becomes its ``\x..`` name."""
    return "".join(
        letter
        if letter == "\t" or unicodedata.category(letter) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        else _name(letter)
        for letter in text
    )


def _name(letter: str) -> str:
    return letter.encode("unicode_escape", "replace").decode()
