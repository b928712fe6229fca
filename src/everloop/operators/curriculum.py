"""The built-in operator: no language model, the same answer to the same briefing.

Its first idea is the measured one: train on the head's own verified samples of *all* families that are not mastered,
nearest to mastery first, and replay known rows in each batch (two families at a time, with replay of mastered ones
only, made the half-known ones fall). A plan that was rejected against the present head, or its near-duplicate, is never
proposed again; the alternatives come in a fixed order (`ALTERNATIVES` within `_subsets`), and when they run out it
proposes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from everloop.operators.base import Briefing, Proposal
from everloop.operators.explanation import MASTERED, proposal
from everloop.operators.instructions import Instructions
from everloop.operators.plans import TrainingPlan
from everloop.operators.similarity import near


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to vary the standard plan."""

    step: str
    """The idea in words."""
    replay_share: float = 0.3
    """Share of each batch that is replay; `FEW_FAMILIES` is added where it applies."""
    steps: float = 1.0
    """Factor on the default steps."""
    learning_rate: float = 1.0
    """Factor on the default learning rate."""


ALTERNATIVES = (
    Alternative("This is the standard plan."),
    Alternative("More replay than the standard plan.", replay_share=0.5),
    Alternative("Lower learning rate than the standard plan.", learning_rate=0.5),
    Alternative("More steps than the standard plan.", steps=2.0),
    Alternative("More replay and a lower learning rate.", replay_share=0.5, learning_rate=0.5),
    Alternative("Lower learning rate over more steps.", learning_rate=0.5, steps=2.0),
    Alternative("More replay, lower learning rate, more steps.", replay_share=0.5, learning_rate=0.5, steps=2.0),
    Alternative("Mostly replay and a quarter of the learning rate.", replay_share=0.7, learning_rate=0.25),
    Alternative("Half the steps, which leaves less time to forget.", steps=0.5),
)
"""In the order in which they are tried, all on the same families before a smaller set of families is taken."""

FEW_FAMILIES = 0.2
"""Added to the replay share of a plan that trains fewer than half of the families: more of them can fall."""


class Curriculum:
    """Diagnoses families, plans interventions, remembers rejected plans, explains itself."""

    name = "curriculum"
    """Name used in a start request."""
    subjects = ("training",)
    """Live runs."""
    asks = False
    """Needs no language model."""

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        """The first idea that was not rejected before, as the only candidate; empty when there is none."""
        owner = read_owner(briefing)
        return first_new(briefing, plans(briefing, owner), owner)


def read_owner(briefing: Briefing) -> Instructions:
    """Directives and then steers, as far as they are understood."""
    return Instructions.read([*briefing.directives, *briefing.steers], briefing.families)


def first_new(briefing: Briefing, ideas: Iterator[tuple[str, TrainingPlan]], owner: Instructions) -> Sequence[Proposal]:
    """The first idea that is no near-duplicate of a rejected plan or of the head's own, with its reasons."""
    known = [tried.plan for tried in briefing.tried]
    if briefing.head_plan is not None:
        known.append(briefing.head_plan)
    for step, plan in ideas:
        if not any(near(plan, other) for other in known):
            return (proposal(plan, briefing, owner, step=step),)
    return ()


def plans(briefing: Briefing, owner: Instructions) -> Iterator[tuple[str, TrainingPlan]]:
    """Every idea with its step in words, best first; finite, and some may be equal where the owner fixed a field."""
    for families in _subsets(_trained(briefing, owner)):
        for alternative in ALTERNATIVES:
            yield alternative.step, _plan(briefing, owner, alternative, families)


def _trained(briefing: Briefing, owner: Instructions) -> tuple[str, ...]:
    """The families to train, nearest to mastery first: the owner's, else the weak, else those with any failure."""
    rates = {name: result.rate for name, result in briefing.families.items() if result.rate is not None}
    nearest = sorted(rates, key=lambda name: (-rates[name], name))
    if owner.focus:
        measured = [name for name in nearest if name in owner.focus]
        return (*measured, *(name for name in owner.focus if name not in rates))
    allowed = [name for name in nearest if name not in owner.avoid]
    weak = tuple(name for name in allowed if rates[name] < MASTERED)
    return weak or tuple(name for name in reversed(allowed) if rates[name] < 1.0)


def _subsets(families: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All, then the first half, and half of that, down to one; then the other half."""
    size = len(families)
    while size:
        yield families[:size]
        size //= 2
    if len(families) > 1:
        yield families[len(families) // 2 :]


def _plan(briefing: Briefing, owner: Instructions, alternative: Alternative, families: tuple[str, ...]) -> TrainingPlan:
    defaults = briefing.defaults
    settings = replace(
        defaults,
        steps=owner.steps or max(1, round(defaults.steps * alternative.steps)),
        learning_rate=owner.learning_rate or defaults.learning_rate * alternative.learning_rate,
    )
    rows = owner.rows or briefing.max_rows_per_family
    replay = owner.replay
    if replay is None:
        few = 2 * len(families) < len(briefing.families)
        replay = round(alternative.replay_share + (FEW_FAMILIES if few else 0.0), 2)
    return TrainingPlan(families, min(rows, briefing.max_rows_per_family), replay, settings)
