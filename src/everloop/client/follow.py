"""Following a run or a log: what was seen, and how long to wait. Without I/O; the clients do the asking."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

from everloop.client.errors import InvalidAnswer, RemoteError
from everloop.events import Json, JsonValue
from everloop.fields import END_STATES

END_STATUSES = frozenset({"completed", "failed", "cancelled"})
"""Status words of a job that has ended."""
POLL_SECONDS = 1.0
"""Wait between two looks at a run."""
PAGE_EVENTS = 200
"""Most events of one answer; a full one is followed by the next at once."""
PATIENCE_SECONDS = 600.0
"""How long a server may be away before following it ends with its error."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 10.0
"""Wait after the first failure in a row, which doubles, and the longest."""


@dataclass(slots=True)
class Following:
    """A reader of a run's events: each is given once, in order, whatever happens to the server meanwhile."""

    since: int = 0
    """``seq`` of the newest event given out."""
    ended: bool = False
    """Whether the run has ended and all its events were given out."""
    behind: bool = False
    """Whether the next look should come at once."""

    @property
    def waits(self) -> bool:
        """Whether the next look is for later."""
        return not self.ended and not self.behind

    def take(self, live: Json) -> Json:
        """The live document with the events that are new. InvalidAnswer for a document of another kind."""
        found = live.get("events")
        if not isinstance(found, list) or not isinstance(live.get("state"), str):
            raise InvalidAnswer("the answer is no live document")
        given = [one for one in found if isinstance(one, dict)]
        new = [event for event in given if _seq(event) > self.since]
        cursor = live.get("next_cursor")
        ahead = cursor if isinstance(cursor, int) and not isinstance(cursor, bool) and new else 0
        self.since = max([self.since, ahead, *map(_seq, new)])
        over = live.get("state") in END_STATES
        # the last events of a run may come in several pages: it is over when a look at an ended run brings nothing new
        self.ended, self.behind = over and not new, bool(new) and (over or len(given) >= PAGE_EVENTS)
        return {**live, "events": list(new)}


def _seq(event: Json) -> int:
    found = event.get("seq")
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


@dataclass(slots=True)
class Logging:
    """A reader of a job's log, page by page."""

    cursor: str | None = None
    """Where the next page begins; None: at the tail that was asked for."""
    ended: bool = False
    """Whether the log is complete and read to its end."""
    behind: bool = False
    """Whether the next look should come at once."""

    @property
    def waits(self) -> bool:
        """Whether the next look is for later."""
        return not self.ended and not self.behind

    def take(self, page: Json) -> Json:
        """The page; the reader goes on after it. InvalidAnswer for a document of another kind."""
        if not isinstance(page.get("items"), list):
            raise InvalidAnswer("the answer is no page of a log")
        cursor: JsonValue = page.get("next_cursor")
        self.cursor = cursor if isinstance(cursor, str) and cursor else self.cursor
        more = page.get("has_more") is True
        self.ended, self.behind = page.get("eof") is True and not more, more
        return page


@dataclass(slots=True)
class Patience:
    """Waits between tries of a request that fails for a while."""

    seconds: float = PATIENCE_SECONDS
    """How long failures in a row may go on."""
    failures: int = 0
    """Failures since the last answer."""
    since: float = field(default=0.0)
    """When the first of them was, on the monotonic clock."""

    def wait(self, error: RemoteError) -> float:
        """Seconds to wait before the next try; raises `error` when no later try would fare better or time is up."""
        now = monotonic()
        if not self.failures:
            self.since = now
        if not error.passing or now - self.since > self.seconds:
            raise error
        grown = min(FIRST_WAIT * 2.0 ** min(self.failures, 10), LONGEST_WAIT)
        self.failures += 1
        return grown if error.retry_after is None else max(error.retry_after, FIRST_WAIT)

    def answered(self) -> None:
        """An answer came: the next failure is a first one."""
        self.failures = 0
