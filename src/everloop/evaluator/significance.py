"""The penalty on changes that are hardly any: a score falls to 0 where the hard rule would refuse."""

from __future__ import annotations

from everloop.evaluator.base import Candidate
from everloop.operators.base import Plan
from everloop.operators.similarity import NEAR

FREE = 0.8
"""Similarity up to which nothing is taken off; from here to `NEAR` the factor falls in a straight line to 0."""
COMPARED = 8
"""Newest refused plans that a plan is compared with: comparing long prompts takes about a millisecond."""
_REMEMBERED = 20_000
_known: dict[tuple[str, str], float] = {}  # a plan is compared once for its features and once for its penalty


def penalty(similarity: float) -> float:
    """Factor 0..1; never rises with similarity."""
    return min(1.0, max(0.0, (NEAR - similarity) / (NEAR - FREE)))


def to_head(plan: Plan, candidate: Candidate) -> float:
    """Similarity to the head's plan, 0..1; 0 without one."""
    return _alike(plan, candidate.head_plan) if candidate.head_plan is not None else 0.0


def to_refused(plan: Plan, candidate: Candidate) -> float:
    """Similarity to the nearest refused plan, 0..1; 0 without one."""
    return max((_alike(plan, other) for other in candidate.tried[:COMPARED]), default=0.0)


def _alike(one: Plan, other: Plan) -> float:
    pair = (one.fingerprint(), other.fingerprint())
    if pair[0] == pair[1]:
        return 1.0
    found = _known.get(pair)
    if found is None:
        if len(_known) >= _REMEMBERED:
            _known.clear()
        found = _known[pair] = one.similarity(other)
    return found
