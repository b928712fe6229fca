"""Small immutable values used on every floor: money and time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, isfinite
from typing import Self, TypeVar

MICRO = 1_000_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class Money:
    """An amount of US dollars, kept as a whole number of micro-dollars."""

    micros: int = 0
    """Micro-dollars; 1_000_000 is one dollar."""

    @classmethod
    def from_usd(cls, usd: float) -> Self:
        """Dollars to micro-dollars, rounded up so that a cost is never understated. ValueError if not finite."""
        if not isfinite(usd):
            raise ValueError(f"{usd!r} is not an amount of money")
        return cls(ceil(round(usd * MICRO, 3)))

    @property
    def usd(self) -> float:
        """Dollars, for the wire."""
        return self.micros / MICRO

    def __add__(self, other: Money) -> Money:
        return Money(self.micros + other.micros)

    def __sub__(self, other: Money) -> Money:
        return Money(self.micros - other.micros)


def utcnow() -> datetime:
    """The current time, UTC-aware."""
    return datetime.now(UTC)


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 UTC with microseconds and ``Z`` (one width, so that text order is time order); None stays None."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def built(make: Callable[..., T], document: Mapping[str, object], **replaced: object) -> T:
    """A dataclass from the JSON it was stored as, nested fields given as `replaced`. TypeError on a field too many."""
    return make(**{**document, **replaced})
