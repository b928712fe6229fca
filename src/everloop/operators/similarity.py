"""When two plans are the same idea."""

from __future__ import annotations

from everloop.operators.base import Plan

NEAR = 0.9
"""Plans at least this similar are near-duplicates: no field of one differs from the other's by more than a tenth."""


def near(one: Plan, other: Plan) -> bool:
    """Whether two plans are near-duplicates; the same fingerprint always is."""
    return one.fingerprint() == other.fingerprint() or one.similarity(other) >= NEAR
