"""How a plan explains itself: Diff, Rationale and interventions, all with the diagnosis' own figures."""

from __future__ import annotations

from collections.abc import Sequence

from everloop.operators.base import Briefing, Intervention, Plan, Proposal, Rationale
from everloop.operators.instructions import Instructions
from everloop.operators.plans import TrainingPlan

MASTERED = 0.95
"""Share right from which a family counts as mastered."""
_QUOTED = 120


def proposal(plan: TrainingPlan, briefing: Briefing, owner: Instructions, *, step: str) -> Proposal:
    """The plan with its reasons; `step` says which of the operator's alternatives it is."""
    return Proposal(plan, diff(plan, briefing), _rationale(plan, briefing, owner, step), _interventions(plan, briefing))


def figure(briefing: Briefing, family: str) -> str:
    """A family's diagnosis in words: ``add4_carry 0.45 (29 of n=64)``."""
    result = briefing.families[family]
    if result.rate is None:
        return f"{family} not measured (n=0)"
    return f"{family} {result.rate:.2f} ({result.right} of n={result.n})"


def diff(plan: Plan, briefing: Briefing) -> str:
    """The change as text, one field a line, against the head's plan or, for a trained base, the trainer's defaults."""
    head = briefing.head_plan or TrainingPlan((), 0, 0.0, briefing.defaults)
    before = head.describe()
    lines = [f"--- {'plan of the head' if briefing.head_plan else 'defaults'}", "+++ this plan"]
    for name, value in plan.describe().items():
        old = before.get(name)
        lines += [f"  {name}: {value}"] if old == value else [f"- {name}: {old}", f"+ {name}: {value}"]
    return "\n".join(lines)


def _rationale(plan: TrainingPlan, briefing: Briefing, owner: Instructions, step: str) -> Rationale:
    trained = ", ".join(plan.families)
    rest = [name for name in briefing.families if name not in plan.families]
    settings = plan.settings
    if plan.source == "collected":
        data = f"Train on up to {plan.rows_per_family} verified samples of the head for each of {trained}"
    else:
        data = f"Train again on rows already known, no new ones, for {trained}"
    what = (
        f"{data}; {plan.replay_share:.0%} of each batch is replay of rows already known; {settings.steps} steps, batch "
        f"{settings.batch_size}, learning rate {settings.learning_rate:g}."
    )
    why = f"Diagnosis: {'; '.join(figure(briefing, name) for name in plan.families)}. {step}"
    if briefing.tried:
        latest = briefing.tried[0]
        why += f" {len(briefing.tried)} plan(s) against this head did not hold; "
        why += f"the last one was {latest.decision}: {_quote(latest.reason)}."
    kept = f"{len(rest)} families are not trained ({', '.join(rest)})" if rest else "every family is trained"
    return Rationale(what, why + _acknowledged(owner), _gain(plan, briefing), f"{kept}; {_danger(plan)}")


def _acknowledged(owner: Instructions) -> str:
    parts = [f"Owner's instruction followed: {_quote(words)}." for words in owner.followed]
    parts += [f"Owner's words noted and not understood: {_quote(words)}." for words in owner.noted]
    return "".join(f" {part}" for part in parts)


def _quote(words: str) -> str:
    flat = " ".join(words.split())
    return f'"{flat if len(flat) <= _QUOTED else flat[: _QUOTED - 1] + "…"}"'


def _gain(plan: TrainingPlan, briefing: Briefing) -> str:
    rates = {name: result.rate for name, result in briefing.families.items() if result.rate is not None}
    if not rates:
        return "Unknown: 0 families were measured."
    reached = {name: max(rate, MASTERED) if name in plan.families else rate for name, rate in rates.items()}
    polished = reached == rates
    if polished:
        reached = {name: 1.0 if name in plan.families else rate for name, rate in rates.items()}
    mean, better = sum(rates.values()) / len(rates), sum(reached.values()) / len(reached)
    n = sum(result.n for result in briefing.families.values())
    target = "made no mistake" if polished else f"reached {MASTERED}"
    return f"If the trained families {target}, the mean over families would go from {mean:.3f} (n={n}) to {better:.3f}."


def _danger(plan: TrainingPlan) -> str:
    if plan.replay_share == 0:
        return "without replay (0%) nothing holds what is not in the new rows: other families can collapse."
    return f"what is not trained can fall, against which {plan.replay_share:.0%} of each batch replays it."


def _interventions(plan: TrainingPlan, briefing: Briefing) -> tuple[Intervention, ...]:
    return (*_data(plan, briefing), _replay(plan), *_settings(plan, briefing))


def _data(plan: TrainingPlan, briefing: Briefing) -> Sequence[Intervention]:
    new = (
        f"add up to {plan.rows_per_family} verified samples of"
        if plan.source == "collected"
        else "repeat known rows of"
    )
    return [
        Intervention(
            "data",
            f"{new} {family}",
            figure(briefing, family),
            f"{family} to at least {max(MASTERED, briefing.families[family].rate or 0.0):.2f}",
            "samples are the head's own: what it never gets right is not among them",
        )
        for family in plan.families
    ]


def _replay(plan: TrainingPlan) -> Intervention:
    share = f"{plan.replay_share:.0%}"
    return Intervention(
        "data",
        f"replay rows already known in {share} of each batch",
        "new rows alone would hold nothing of the other families",
        "families that are not trained stay within the floor",
        _danger(plan),
    )


def _settings(plan: TrainingPlan, briefing: Briefing) -> Sequence[Intervention]:
    old, new = briefing.defaults, plan.settings
    if old == new:
        return []
    what = f"steps {old.steps} -> {new.steps}, learning rate {old.learning_rate:g} -> {new.learning_rate:g}"
    why = f"{len(briefing.tried)} earlier plan(s) against this head did not hold, or the owner asked for it"
    return [
        Intervention(
            "settings", what, why, "a candidate that differs where earlier ones failed", _effort(plan, briefing)
        )
    ]


def _effort(plan: TrainingPlan, briefing: Briefing) -> str:
    return f"takes {plan.settings.steps / max(1, briefing.defaults.steps):.2g} times the training time of the defaults"
