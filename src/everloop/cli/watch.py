"""What a reader of the live view has seen so far: events folded into a few facts worth showing."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from everloop.events import Json
from everloop.fields import MISSING, number, part, parts, word

RECENT = 8
"""Events shown."""


@dataclass(slots=True)
class Family:
    """A family's figures in the round under way."""

    right: float | None = None
    """Items of the diagnosis that the working head answered rightly."""
    asked: float | None = None
    """Items of the diagnosis."""
    wins: float | None = None
    """Dev pairs won by the candidate."""
    losses: float | None = None
    """Dev pairs lost by the candidate."""
    pairs: float | None = None
    """Dev pairs."""

    @property
    def head(self) -> float | None:
        """Share right of the working head; None before the diagnosis."""
        return self.right / self.asked if self.right is not None and self.asked else None

    @property
    def change(self) -> float | None:
        """Candidate minus working head; None before the screen."""
        if self.wins is None or self.losses is None or not self.pairs:
            return None
        return (self.wins - self.losses) / self.pairs


@dataclass(slots=True)
class Evidence:
    """A screen or a certification."""

    what: str
    """``screen`` or ``certify``."""
    candidate: str
    """Who was compared."""
    wins: float | None
    """Pairs won."""
    losses: float | None
    """Pairs lost."""
    pairs: float | None
    """All pairs."""
    value: float | None
    """Mean difference of a screen, log e of a certification."""
    threshold: float | None
    """What `value` is held against."""


@dataclass(slots=True)
class Watch:
    """The newest live document and what its events have told."""

    document: Json = field(default_factory=dict)
    """The newest live document."""
    families: dict[str, Family] = field(default_factory=dict)
    """Family -> figures of the round under way."""
    evidence: list[Evidence] = field(default_factory=list)
    """Screens and certifications of the whole run, in order."""
    recent: deque[Json] = field(default_factory=lambda: deque(maxlen=RECENT))
    """Newest events, oldest first."""

    def take(self, document: Json) -> list[Json]:
        """Fold a live document in; returns its events, oldest first."""
        self.document = document
        found = sorted(parts(document, "events"), key=lambda event: number(event, "seq") or 0)
        for event in found:
            self.recent.append(event)
            self._fold(event)
        return found

    def _fold(self, event: Json) -> None:
        data, phase, tool = part(event, "data"), event.get("phase"), event.get("tool")
        if phase == "diagnose" and "families" in data:
            self._diagnosed(part(data, "families"))
        elif phase == "evaluate" and "screen" in data:
            self._screened(part(data, "families"))
            self._add("screen", event, part(data, "screen"), "estimate")
        elif phase == "certify" and tool == "gate" and "certification" in data:
            self._add("certify", event, part(data, "certification"), "log_e")

    def _diagnosed(self, found: Json) -> None:
        self.families = {}
        for family, counts in found.items():
            if isinstance(counts, list) and len(counts) == 2:
                right, asked = counts
                told: Json = {"right": right, "asked": asked}
                self.families[family] = Family(number(told, "right"), number(told, "asked"))

    def _screened(self, found: Json) -> None:
        for family in found:
            counts, seen = part(found, family), self.families.setdefault(family, Family())
            seen.wins, seen.losses = number(counts, "wins"), number(counts, "losses")
            agreed = [number(counts, name) for name in ("wins", "losses", "both_right", "both_wrong")]
            known = [count for count in agreed if count is not None]
            seen.pairs = sum(known) if len(known) == len(agreed) else None

    def _add(self, what: str, event: Json, figures: Json, value: str) -> None:
        self.evidence.append(
            Evidence(
                what,
                _candidate(event),
                number(figures, "wins"),
                number(figures, "losses"),
                number(figures, "pairs"),
                number(figures, value),
                number(figures, "threshold"),
            )
        )


def _candidate(event: Json) -> str:
    """Whom an event is about."""
    named = part(event, "data").get("candidate")
    return word(named) if named else MISSING
