"""When two plans are the same idea."""

from __future__ import annotations

from everloop.operators.base import Plan

NEAR = 0.9
"""Plans at least this similar are near-duplicates: no field of one differs from the other's by more than a tenth."""


def near(one: Plan, other: Plan) -> bool:
    """Whether two plans are near-duplicates; the same fingerprint always is."""
    return alike(one, other) >= NEAR


def alike(one: Plan, other: Plan) -> float:
    """How similar two plans are, 0..1; the same fingerprint is 1."""
    return 1.0 if one.fingerprint() == other.fingerprint() else one.similarity(other)
