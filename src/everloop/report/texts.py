"""Values of the record as text in a report; what is not on record is "—"."""

from __future__ import annotations

from everloop import fields
from everloop.events import Json, JsonValue
from everloop.fields import MISSING, clock, figure, number, word


def clean(value: JsonValue) -> str:
    """A text of the record with its own lines, without what cannot be shown."""
    return fields.clean(word(value))


def line(value: JsonValue) -> str:
    """A text of the record in one line."""
    return fields.line(word(value))


def count(document: Json, name: str) -> str:
    """The count of that name, e.g. ``2,000``."""
    return figure(number(document, name), ",.0f")


def log_e(evidence: Json, name: str = "log_e") -> str:
    """The logarithm of an e-value, or another figure on its scale, of that name."""
    return figure(number(evidence, name), ".2f")


def moment(value: JsonValue) -> str:
    """A time to the second, in UTC; "—" without one."""
    at = fields.moment(value)
    return MISSING if at is None else clock(at)
