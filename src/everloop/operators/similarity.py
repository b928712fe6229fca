"""How much two plans would build the same thing."""

from __future__ import annotations

from everloop.operators.base import Plan

NEAR = 0.9
"""Plans at least this similar are near-duplicates: no field of one differs from the other's by more than a tenth."""


def similarity(one: Plan, other: Plan) -> float:
    """The least similar field of two plans, 0..1.

    Families: shared ones by all (Jaccard); counts and rates: the smaller by the larger; replay: one minus the
    difference; source: all or nothing. The seed is left out, because another shuffle is not another idea, and so are
    words, because the same plan in other words builds the same candidate.
    """
    if one.source != other.source:
        return 0.0
    mine, theirs = set(one.families), set(other.families)
    return min(
        len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0,
        _ratio(one.rows_per_family, other.rows_per_family),
        1.0 - abs(one.replay_share - other.replay_share),
        _ratio(one.settings.steps, other.settings.steps),
        _ratio(one.settings.batch_size, other.settings.batch_size),
        _ratio(one.settings.learning_rate, other.settings.learning_rate),
    )


def near(one: Plan, other: Plan) -> bool:
    """Whether two plans are near-duplicates; the same fingerprint always is."""
    return one.fingerprint() == other.fingerprint() or similarity(one, other) >= NEAR


def _ratio(one: float, other: float) -> float:
    low, high = sorted((abs(one), abs(other)))
    return low / high if high else 1.0
