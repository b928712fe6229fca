"""Auditor: a candidate must be another idea than every plan rejected against this head.

The plan that made the head counts only for a candidate that collects nothing new: the same plan on samples of a better
head is other data, and the next step of self-training.
"""

from __future__ import annotations

from everloop.operators.base import Case, Plan, Review, Stage
from everloop.operators.similarity import NEAR, alike


class SignificanceAuditor:
    """Refuses near-duplicates (`similarity.NEAR`); the same fingerprint always is one."""

    kind = "significance"
    """Kind of its reviews."""
    stage = Stage.SCREEN
    """Needs nothing built."""
    asks = False
    """It is a rule."""

    def review(self, case: Case) -> Review:
        """Reject if the plan repeats the head's or an earlier rejected one."""
        plan = case.proposal.plan
        earlier = [(f"plan {one.decision} before ({one.reason:.80})", one.plan) for one in case.tried]
        if case.head_plan is not None and not plan.renews:
            earlier.insert(0, ("plan that made the head", case.head_plan))
        closest = 0.0
        for whose, other in earlier:
            found = alike(plan, other)
            if found >= NEAR:
                return Review(self.kind, False, f"{_how(plan, other, found)} the {whose}")
            closest = max(closest, found)
        reason = f"differs from {len(earlier)} earlier plans; the closest has similarity {closest:.2f} (below {NEAR:g})"
        return Review(self.kind, True, reason)


def _how(plan: Plan, other: Plan, found: float) -> str:
    if plan.fingerprint() == other.fingerprint():
        return "identical to"
    return f"near-duplicate (similarity {found:.2f}, limit {NEAR:g}) of"
