"""The panel that reviews candidates, found by the entry-point group ``everloop.auditors``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import cast

from everloop.errors import InvalidRequest
from everloop.operators.base import Auditor

GROUP = "everloop.auditors"
PANEL = ("rationale", "significance", "contamination", "regression")
"""The default panel: those that need nothing built first."""


@cache
def auditor(name: str) -> Auditor:
    """The auditor of that name. InvalidRequest, with the known names, when there is none."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        raise InvalidRequest(f"unknown auditor {name!r}", why=f"known: {', '.join(sorted(found)) or 'none'}")
    return cast(Auditor, found[name].load()())


def panel(names: Sequence[str]) -> tuple[Auditor, ...]:
    """The auditors of a run, in order. InvalidRequest for an unknown name."""
    return tuple(auditor(name) for name in names)
