"""The panel that reviews candidates, found by the entry-point group ``everloop.auditors``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from everloop.operators.base import Auditor
from everloop.plugins import plugin

PANEL = ("rationale", "significance", "contamination", "regression")
"""The default panel: those that need nothing built first."""


def auditor(name: str) -> Auditor:
    """The auditor of that name. InvalidRequest, with the known names, when there is none."""
    return cast(Auditor, plugin("auditor", name))


def panel(names: Sequence[str]) -> tuple[Auditor, ...]:
    """The auditors of a run, in order. InvalidRequest for an unknown name."""
    return tuple(auditor(name) for name in names)
