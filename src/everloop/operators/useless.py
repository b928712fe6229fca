"""An operator whose candidates cannot help, for experiments: it shows how often a gate is fooled. Not for use.

Rounds go round four ideas, none of which brings anything new: the same data again, the same reshuffled, another seed,
and a near-duplicate of the settings. All train on rows already known. The significance auditor refuses them once the
first has been tried; an experiment with the gate alone leaves that auditor out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from everloop.operators.base import Briefing, Proposal
from everloop.operators.curriculum import read_owner
from everloop.operators.explanation import proposal
from everloop.operators.plans import TrainingPlan

IDEAS = ("The same data again.", "The same data, reshuffled.", "The same data, another seed.", "A near-duplicate.")
"""What round 1, 2, 3, 4, 5 (as 1), ... proposes."""


class Useless:
    """Proposes what cannot help, a different useless thing each round of four."""

    name = "useless"
    """Name used in a start request."""
    subjects = ("training",)
    """Live runs."""
    asks = False
    """Needs no language model."""

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        """Always one candidate, whatever was rejected before."""
        place = (briefing.round - 1) % len(IDEAS)
        plan = _plan(briefing, place)
        return (proposal(plan, briefing, read_owner(briefing), step=IDEAS[place]),)


def _plan(briefing: Briefing, place: int) -> TrainingPlan:
    families, rows = tuple(briefing.families), briefing.max_rows_per_family
    same = TrainingPlan(families, rows, 1.0, briefing.defaults, source="known")
    if place == 1:
        return replace(same, seed_salt=briefing.round)
    if place == 2:
        return replace(same, seed_salt=1_000_003 * briefing.round)
    if place == 3:
        slower = replace(same.settings, learning_rate=same.settings.learning_rate * 0.98)
        return replace(same, settings=slower, seed_salt=-briefing.round)
    return same
