"""An operator with a known fault, for experiments: it trains additions without replay, so that subtraction collapses.

It shows that the floor under each family holds. Not for use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from everloop.operators.base import Briefing, Proposal
from everloop.operators.curriculum import first_new, plans, read_owner
from everloop.operators.instructions import Instructions
from everloop.operators.plans import TrainingPlan


class NoReplay:
    """`Curriculum` with replay 0 and additions only (in a domain without additions: the first half of its families)."""

    name = "no_replay"
    """Name used in a start request."""
    subjects = ("training",)
    """Live runs."""
    asks = False
    """Needs no language model."""

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        """The first such idea that was not rejected before; empty when there is none."""
        return first_new(briefing, _ideas(briefing), read_owner(briefing))


def _ideas(briefing: Briefing) -> Iterator[tuple[str, TrainingPlan]]:
    for step, plan in plans(briefing, Instructions(focus=_additions(briefing))):
        yield f"{step} But nothing is replayed.", replace(plan, replay_share=0.0)


def _additions(briefing: Briefing) -> tuple[str, ...]:
    names = tuple(briefing.families)
    return tuple(name for name in names if name.startswith("add")) or names[: max(1, len(names) // 2)]
