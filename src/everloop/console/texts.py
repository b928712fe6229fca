"""Texts of a record on a page: they come from models, jobs and callers."""

from __future__ import annotations

from everloop.fields import MISSING
from everloop.report.texts import clean

LONG = 4000
"""Most characters of one text on a page."""


def plain(value: object) -> str:
    """A text without what cannot be printed, such as marks that turn the direction of what follows; cut when long."""
    text = value if isinstance(value, str) and value.isprintable() else clean(value if isinstance(value, str) else None)
    text = text or MISSING
    return text if len(text) <= LONG else f"{text[:LONG]}…"
