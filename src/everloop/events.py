"""Event types: what a reader of a run sees, in order. The store gives each its ``seq``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
Json = dict[str, JsonValue]


class EventKind(StrEnum):
    """The seven kinds of the wire contract."""

    MESSAGE = "message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    STEER = "steer"
    ROUND = "round"
    JOB = "job"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a run, before the store numbered it."""

    kind: EventKind
    """Which of the contract's kinds."""
    text: str
    """Short text for people; no secrets."""
    round: int | None = None
    """Round it belongs to; None outside rounds."""
    phase: str | None = None
    """Phase it belongs to (diagnose, propose, ...); None outside phases."""
    role: str | None = None
    """Who acted: operator, auditor, student, loop."""
    tool: str | None = None
    """Tool in use, if any."""
    data: Mapping[str, JsonValue] = field(default_factory=dict)
    """Details for programs."""


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event as the store holds it."""

    seq: int
    """Position in its run: 1, 2, 3, ... without gaps."""
    at: str
    """ISO 8601 UTC time of the write."""
    event: Event
    """What happened."""
