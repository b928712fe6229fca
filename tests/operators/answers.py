"""Answers of an operator's model, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from briefings import MIXED, briefing
from desks import FakeDesk, Scripted, call

from everloop.experience.base import Experience
from everloop.operators.agent import AgentOperator
from everloop.operators.agent_checks import TARGETS
from everloop.operators.base import Briefing, Case, Proposal
from everloop.operators.figures import FiguresAuditor
from everloop.operators.plans import PromptPlan
from everloop.operators.rationale import RationaleAuditor
from everloop.operators.significance import SignificanceAuditor
from everloop.students.prompt import Prompt

SUBMIT = "submit_candidates"
BASE = briefing(MIXED)
DRY = replace(BASE, subject="prompt", head_plan=PromptPlan(Prompt()))


def reasons(**changed: object) -> dict[str, object]:
    return {
        "what": "Train on verified samples of add4_carry with replay of known rows.",
        "why": "Diagnosis: add4_carry 0.45 (29 of n=64).",
        "expected_gain": "add4_carry from 0.45 to about 0.80.",
        "risks": "Families that are not trained could fall a little.",
    } | changed


def change(target: str = "data", **changed: object) -> dict[str, object]:
    return {
        "target": target,
        "what": "add samples of add4_carry",
        "why": "add4_carry 0.45 (29 of n=64)",
        "expected": "add4_carry to 0.80",
        "risk": "others may fall",
    } | changed


def trained(**changed: object) -> dict[str, object]:
    return {
        "diff": "steps as before, new rows of add4_carry",
        "rationale": reasons(),
        "interventions": [change()],
        "families": ["add4_carry"],
        "rows_per_family": 800,
        "replay_share": 0.4,
        "steps": 500,
        "batch_size": 128,
        "learning_rate": 0.002,
        "source": "collected",
    } | changed


def prompted(prompt: dict[str, object], **changed: object) -> dict[str, object]:
    common = {name: value for name, value in trained().items() if name in ("diff", "rationale", "families")}
    return common | {"interventions": [change("prompt")], "prompt": prompt} | changed


def submit(*candidates: dict[str, object], **more: object) -> Any:
    return call(SUBMIT, candidates=list(candidates), **more)


def proposed(
    answers: Sequence[Any], to: Briefing = BASE, steers: dict[int, list[str]] | None = None
) -> tuple[Sequence[Proposal], Scripted, FakeDesk]:
    scripted = Scripted(answers)
    desk = FakeDesk(scripted.model, steers or {})
    return AgentOperator().propose(replace(to, desk=desk)), scripted, desk


def refusals(proposal: Proposal, to: Briefing) -> list[str]:
    """What the loop's screen says: allow-list of targets, families that exist, the auditors of the rules."""
    outside = sorted({one.target for one in proposal.interventions} - set(TARGETS[to.subject]))
    found = [f"{target} may not be changed" for target in outside]
    found += [f"{name} is no family" for name in sorted(set(proposal.plan.families) - set(to.families))]
    case = Case(proposal, to.tried, to.head_plan, families=to.families)
    for auditor in (RationaleAuditor(), SignificanceAuditor(), FiguresAuditor()):
        review = auditor.review(case)
        found += [] if review.passed else [f"{review.kind}: {review.reason}"]
    return found


def failure(text: str, family: str = "add4_carry") -> Experience:
    return Experience(family, text, "a task", text, "wrong", text, gold="12")
