"""Reading the run document: parts of it by name, and figures as text. What is missing is "—", never 0."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite
from unicodedata import category

from everloop.events import Json, JsonValue

MISSING = "—"
"""Shown where a value is absent."""
END_STATES = frozenset({"finished", "failed", "stopped", "unreadable"})
"""States after which nothing happens to a run by itself."""


def part(document: Json, name: str) -> Json:
    """The object of that name; empty when it is absent."""
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def parts(document: Json, name: str) -> list[Json]:
    """The objects of the list of that name; empty when it is absent."""
    found = document.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def number(document: Json, name: str) -> float | None:
    """The number of that name; None when it is absent or no finite number."""
    found = document.get(name)
    if not isinstance(found, int | float) or isinstance(found, bool):
        return None
    return float(found) if isfinite(found) else None


def word(value: JsonValue) -> str:
    """A name, count or flag as text; "—" for none, and for a number that is not finite."""
    if value is None or value == "" or (isinstance(value, float) and not isfinite(value)):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def clean(text: str) -> str:
    """A text from elsewhere, safe to show: control characters and marks that turn the direction of text become U+FFFD.

    Spaces of every script, new lines and tabs stay; other white space becomes a space.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(one: str) -> str:
    if one.isprintable() or one in "\n\t" or category(one) == "Zs":
        return one
    return " " if one.isspace() else "\N{REPLACEMENT CHARACTER}"


def line(text: str) -> str:
    """As `clean`, in one line: new lines and tabs become a space each."""
    return clean(text).replace("\n", " ").replace("\t", " ")


def moment(value: JsonValue) -> datetime | None:
    """A time of the record, in UTC, as which one without a zone counts; None for what is no time."""
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else None
        return None if read is None else read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # no time, or one whose zone leads out of the years that there are
        return None


def clock(at: datetime) -> str:
    """A time in UTC as text, to the second, with its zone."""
    return f"{at.replace(tzinfo=None).isoformat(' ', 'seconds')} UTC"


def figure(value: float | None, form: str = ".3f") -> str:
    """A number as text in a format, e.g. ``+.3f`` for a change."""
    return MISSING if value is None else format(value, form)


def interval(low: float | None, high: float | None, form: str = ".3f") -> str:
    """``[low, high]``; "—" when either end is absent."""
    return MISSING if low is None or high is None else f"[{low:{form}}, {high:{form}}]"


def dollars(value: float | None) -> str:
    """An amount of US dollars with all its significant micro-dollars."""
    if value is None:
        return MISSING
    text = f"{value:.6f}".rstrip("0")
    whole, _, cents = text.partition(".")
    return f"${whole}.{cents.ljust(2, '0')}"


ORDER = ("blind", "certify", "dev")
"""Sets from the strongest evidence to the weakest: a version is shown by the first that it was measured on."""


def main_score(scored: Json) -> Json | None:
    """The score over all families on the strongest set; None when nothing was measured."""
    found = {word(score.get("set")): score for score in parts(scored, "scores") if score.get("split") == "all"}
    measured = (found[name] for name in ORDER if name in found and number(found[name], "mean") is not None)
    return next(measured, None)
