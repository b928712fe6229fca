"""Values of the record as text in a report; what is not on record is "—"."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite

from everloop.events import JsonValue
from everloop.fields import MISSING, word


def clean(value: JsonValue) -> str:
    """A text of the record without what cannot be printed, such as marks that turn the direction of what follows."""
    if isinstance(value, float) and not isfinite(value):
        return MISSING
    return "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in word(value))


def line(value: JsonValue) -> str:
    """A text of the record in one line."""
    return " ".join(clean(value).split())


def moment(value: JsonValue) -> str:
    """A time to the second, in UTC; "—" without one."""
    if not isinstance(value, str) or not value:
        return MISSING
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return MISSING
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
