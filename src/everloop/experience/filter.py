"""Sorting raw records: only what tells something about the student may teach or be counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from everloop.domains.base import Item


class Ending(StrEnum):
    """How a task execution ended."""

    ANSWERED = "answered"
    """The student gave its answer."""
    ABORTED = "aborted"
    """Somebody broke it off."""
    TIMEOUT = "timeout"
    """It took too long."""
    SYSTEM_ERROR = "system_error"
    """The platform failed."""


@dataclass(frozen=True, slots=True)
class Record:
    """One raw task execution."""

    item: Item
    """What was asked."""
    answer: str | None
    """What the student answered; None where nothing came."""
    outcome: bool | None
    """The verifier's verdict; None where there is none."""
    ending: Ending = Ending.ANSWERED
    """How it ended."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """Records by what they are good for; each record is in exactly one."""

    valid: tuple[Record, ...]
    """Answered and judged: these count."""
    environment_faults: tuple[Record, ...]
    """Ended as if answered, but without an answer or a verdict: the surroundings failed, not the student."""
    noise: tuple[Record, ...]
    """Broken off, timed out or lost to a system error."""


def sort(records: Iterable[Record]) -> Sorted:
    """Sort records, keeping their order."""
    valid: list[Record] = []
    faults: list[Record] = []
    noise: list[Record] = []
    for record in records:
        if record.ending is not Ending.ANSWERED:
            noise.append(record)
        elif record.answer is None or record.outcome is None:
            faults.append(record)
        else:
            valid.append(record)
    return Sorted(tuple(valid), tuple(faults), tuple(noise))
