"""Recorded runs for the tests of the evaluator: plans with a known worth, in a real store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp
from random import Random

from everloop.events import Json
from everloop.loop.proposals import proposal_json
from everloop.operators.base import Intervention, Plan, Proposal, Rationale
from everloop.operators.plans import PromptPlan, TrainingPlan
from everloop.store import candidates, runs
from everloop.store.database import Database
from everloop.store.runs import NewRun
from everloop.students.base import TrainSettings
from everloop.students.prompt import Example, Prompt

FAMILIES = ("add3", "add3_carry", "add4_carry", "sub3", "sub3_borrow", "sub4_borrow")


@dataclass(frozen=True)
class Recorded:
    """A candidate with its decision."""

    proposal: Json
    decision: str | None
    reason: str = "gate: screen estimate 0.001 does not reach 0.01 on 400 pairs"


def training_plan(random: Random) -> TrainingPlan:
    families = tuple(sorted(random.sample(FAMILIES, random.randint(1, len(FAMILIES)))))
    settings = TrainSettings(random.choice([125, 250, 500, 1000, 2000]), 128, random.choice([5e-4, 1e-3, 2e-3, 4e-3]))
    return TrainingPlan(families, random.choice([250, 500, 1000]), random.choice([0.0, 0.1, 0.3, 0.5, 0.7]), settings)


def prompt_plan(random: Random) -> PromptPlan:
    system = random.choice(
        [
            "You are a careful solver. Write only the final number as your answer to the task.",
            "Be brief and exact. Compute the number and reply with it and with nothing else at all.",
            "Work from the right to the left, digit by digit, and carry. Then write the correct answer.",
        ]
    )
    examples = tuple(
        Example("add3", f"{one}+{two}=", str(one + two))
        for one, two in ((random.randint(100, 999), random.randint(100, 999)) for _ in range(random.randint(2, 6)))
    )
    return PromptPlan(Prompt(system=system, template="Task: {task}", examples=examples), ("add3",))


def proposal(plan: Plan, random: Random, *, diff: str | None = None) -> Json:
    """A proposal in an operator's words, with figures that differ from one to the next."""
    named = ", ".join(plan.families)
    right, n = random.randint(20, 60), 64
    rationale = Rationale(
        what=f"Train on verified samples of {named}.",
        why=f"Diagnosis: {named} stand at {right / n:.2f} ({right} of n={n}).",
        expected_gain=f"The mean would go from {right / n:.3f} to {min(1.0, right / n + 0.2):.3f}.",
        risks="What is not trained can fall.",
    )
    told = "\n".join(f"+ {name}: {value}" for name, value in plan.describe().items())
    one = Intervention("data", f"add samples of {named}", f"{right} of n={n}", "more right answers", "others fall")
    return proposal_json(Proposal(plan, told if diff is None else diff, rationale, (one,)))


def worth(plan: TrainingPlan, signal: float) -> float:
    """Chance to survive: replay and many families help, a high learning rate harms; all alike without a signal."""
    odds = 4.0 * plan.replay_share + 0.4 * len(plan.families) - 500.0 * plan.settings.learning_rate - 1.6
    return 1 / (1 + exp(-signal * odds))


def history(seed: int, *, signal: float, length: int = 8) -> list[Recorded]:
    """A run's candidates whose survival follows `worth`, all told apart from the plan that made the head."""
    random = Random(seed)
    made = []
    for _ in range(length):
        plan = training_plan(random)
        good = random.random() < worth(plan, signal)
        made.append(Recorded(proposal(plan, random), "certified" if good else "rejected"))
    return made


def record(
    database: Database, run: str, made: list[Recorded], *, state: str = "finished", base: Plan | None = None
) -> None:
    """Write a run and its candidates, one a round."""
    with database.write() as tx:
        new = NewRun(
            run=run,
            kind="model",
            group="model",
            level="work",
            domain="arith",
            mode="live",
            rounds_target=3,
            brief="b",
            owner={},
            seed=1,
            limits={},
            goal=None,
            stop={},
            options={},
            protocol={},
            protocol_sha256="0",
            worst_case_usd=None,
            machine="m",
        )
        runs.create(tx, new)
        runs.update(tx, run, state=state, lines={"base": {"plan": base.to_json() if base else None}})
        for number, one in enumerate(made, 1):
            name = f"r{number}c1"
            candidates.put(tx, run, name, round=number, proposal=one.proposal, fingerprint=f"f{number}")
            reasons = [one.reason] if one.decision in {"rejected", "reverted", "error"} else []
            candidates.update(tx, run, name, decision=one.decision, reasons=reasons)


def fill(database: Database, count: int, *, signal: float, seed: int = 0, length: int = 8) -> None:
    """So many finished runs."""
    for number in range(count):
        record(database, f"run-{seed}-{number}", history(1000 * seed + number, signal=signal, length=length))


def tiny(plan: PromptPlan, random: Random) -> PromptPlan:
    """The same prompt with one word swapped."""
    words = {"careful": "attentive", "brief": "short", "correct": "right", "exact": "precise", "final": "last"}
    found = [word for word in words if word in plan.prompt.system]
    word = random.choice(found)
    return replace(plan, prompt=replace(plan.prompt, system=plan.prompt.system.replace(word, words[word], 1)))
