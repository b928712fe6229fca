"""Texts of a record on a page: they come from models, jobs and callers."""

from __future__ import annotations

from everloop.fields import MISSING, clean

LONG = 4000
"""Most characters of one text on a page."""


def plain(value: object) -> str:
    """A text without what cannot be printed, such as marks that turn the direction of what follows; cut when long."""
    text = (clean(value) if isinstance(value, str) else "") or MISSING
    return text if len(text) <= LONG else f"{text[:LONG]}…"
