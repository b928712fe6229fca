"""What the picture ``timeline`` is drawn from: the phases of the newest rounds and how long each took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from everloop.events import Json
from everloop.fields import MISSING, moment, number, parts, word
from everloop.language import Language
from everloop.language.vocabulary import phase
from everloop.pictures.axis import drawable

MOST = 20
"""Newest rounds drawn."""

KINDS = {
    "base-rows": "build",
    "baseline": "measure",
    "calibrate": "measure",
    "diagnose": "think",
    "propose": "think",
    "summarise": "think",
    "collect": "build",
    "admit": "build",
    "launch": "build",
    "train": "build",
    "build": "build",
    "control-pending": "build",
    "control": "build",
    "dev": "measure",
    "screen": "measure",
    "evaluate": "measure",
    "certify": "measure",
    "final": "measure",
    "contamination": "check",
    "audit": "check",
    "approval": "check",
}
"""Phase -> the kind of work in it; any other is ``rest``."""

# what the loop decides between rounds stands under the round that may follow, which there may never be
_BOOKS = ("turn",)

_UNITS = (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1))


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a round."""

    round: float | None
    """Which round, 0 for the start; None: not known."""
    candidate: str | None
    """Candidate it was about."""
    phase: str
    """Its name on the wire."""
    started_at: str | None
    """When it began."""
    ended_at: str | None
    """When it ended; None while it is at work."""
    seconds: float | None
    """How long it took, or has taken by now."""

    @property
    def kind(self) -> str:
        """The kind of work in it: ``think``, ``build``, ``measure``, ``check`` or ``rest``."""
        return KINDS.get(self.phase, "rest")

    def called(self, language: Language) -> str:
        """Its name as people read it."""
        return phase(language, self.phase)

    @property
    def at_work(self) -> bool:
        """Whether it has begun and not ended."""
        return self.started_at is not None and self.ended_at is None

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """When it began and ended; None unless both are known."""
        begun, ended = moment(self.started_at), moment(self.ended_at)
        return (begun, ended) if begun is not None and ended is not None else None


def phases(document: Json, history: Json | None) -> list[Phase]:
    """All phases that the history has; one at work has taken the time up to the newest moment that is known."""
    now = _now(document, history)
    return [_phase(one, now) for one in parts(history or {}, "phases")]


def _phase(one: Json, now: datetime | None) -> Phase:
    started, ended, candidate = one.get("started_at"), one.get("ended_at"), one.get("candidate")
    seconds = drawable(number(one, "seconds"))
    begun, until = moment(started), moment(ended) if ended is not None else now
    if seconds is None and begun is not None and until is not None:
        seconds = (until - begun).total_seconds()
    return Phase(
        drawable(number(one, "round")),
        word(candidate) if candidate else None,
        word(one.get("phase")),
        started if isinstance(started, str) else None,
        ended if isinstance(ended, str) else None,
        None if seconds is None or seconds < 0 else seconds,
    )


def _now(document: Json, history: Json | None) -> datetime | None:
    """The newest moment that the documents know of."""
    known = [moment(one.get("at")) for one in parts(history or {}, "spend")[-1:]]
    return max((at for at in [*known, moment(document.get("updated_at"))] if at is not None), default=None)


def by_round(found: Sequence[Phase]) -> list[tuple[float, list[Phase]]]:
    """The newest rounds, newest first, each with its phases of a known length in their order.

    A phase that was part of another is left out, so that no time counts twice.
    """
    rounds: dict[float, list[Phase]] = {}
    for one in found:
        if one.round is not None and one.seconds is not None and one.phase not in _BOOKS:
            rounds.setdefault(one.round, []).append(one)
    return [(number_of, _outermost(some)) for number_of, some in sorted(rounds.items(), reverse=True)[:MOST]]


def _outermost(found: Sequence[Phase]) -> list[Phase]:
    spans = [one.span for one in found]
    kept = [one for one, span in zip(found, spans, strict=True) if not any(_within(span, other) for other in spans)]
    return sorted(kept, key=lambda one: (one.started_at is None, one.started_at or ""))


def _within(one: tuple[datetime, datetime] | None, other: tuple[datetime, datetime] | None) -> bool:
    return one is not None and other is not None and other[0] <= one[0] and one[1] <= other[1] and one != other


def took(found: Sequence[Phase]) -> float:
    """Seconds of all of them."""
    return sum(one.seconds or 0.0 for one in found)


def lasted(seconds: float | None) -> str:
    """A length of time in its two largest units."""
    if seconds is None:
        return MISSING
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, size, below, part in _UNITS:
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {below}"
    return f"{whole} s"
