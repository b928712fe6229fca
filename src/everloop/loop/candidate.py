"""The way of one candidate through a round: screen, build, pre-test, evaluate, audit, decide, certify."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from sqlalchemy import Connection

from everloop.domains.base import Item
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.evidence.constraints import FailureRate, RuleCheck
from everloop.evidence.gates.base import Ruling
from everloop.evidence.sets import set_of
from everloop.loop import certification, diagnosis, memory, screening, soft_score
from everloop.loop.context import Context, lines_of
from everloop.loop.desk import LoopDesk
from everloop.loop.failure import Failure, Remedy
from everloop.loop.journal import Done
from everloop.loop.kinds import kind_of
from everloop.loop.lines import Artifact
from everloop.loop.proposals import proposal_json, proposal_of
from everloop.operators.base import Case, Plan, Review, Stage
from everloop.operators.plans import plan_of
from everloop.store import candidates, reviews, runs
from everloop.store.runs import RunRow
from everloop.students.base import Row


def carry(context: Context, number: int, name: str) -> Json:
    """Carry a candidate to its decision; returns ``{"decision", "summary", "version"}``."""
    concluded = context.journal.done(number, "conclude", name)
    if concluded is not None:
        return concluded  # a phase that failed then may succeed in a replay, and must not overturn what was decided
    try:
        refusal = _prove(context, number, name)
    except Failure as failure:
        if failure.remedy is not Remedy.REJECT:
            raise
        return _conclude(context, number, name, "error", [f"{failure.code}: {failure.message}"])
    if refusal:
        return _conclude(context, number, name, "rejected", refusal)
    certified = certification.certify(context, number, key=name)
    if certified["decision"] is None:
        return _conclude(context, number, name, "kept", [])
    return _conclude(context, number, name, str(certified["decision"]), [], certified)


def _prove(context: Context, number: int, name: str) -> list[str]:
    """Everything up to the working line's move; returns why the candidate is refused, or nothing."""
    screened = context.journal.phase(number, "screen", lambda _: _screen(context, number, name), candidate=name)
    if screened["refused"]:
        return cast(list[str], screened["refused"])
    plan, kind = plan_of(cast(Json, screened["plan"])), kind_of(context)
    gathered = kind.gather(context, number, name, plan)
    checked = context.journal.phase(
        number, "contamination", lambda row: _contamination(context, row, number, name, plan, gathered), candidate=name
    )
    if checked["refused"]:
        return cast(list[str], checked["refused"])
    artifact = kind.build(context, number, name, plan, gathered, cast(Json, checked["control"]))
    admitted = screening.admit(context, number, artifact)
    if not admitted["passed"]:
        return [str(admitted["reason"])]
    screening.draw_dev(context, number, name)
    evaluated = screening.evaluate(context, number, artifact)
    audited = context.journal.phase(
        number, "audit", lambda _: _audit(context, number, artifact, admitted, evaluated), candidate=name
    )
    decided = context.journal.phase(
        number, "decide", lambda row: _decide(context, row, number, artifact, evaluated, audited), candidate=name
    )
    return cast(list[str], decided["refused"])


def _screen(context: Context, number: int, name: str) -> Done:
    """The allow-list and the auditors that need nothing built."""
    kind, case = kind_of(context), _case(context, number, name, "screen")
    plan = case.proposal.plan
    declared = {one.target for one in case.proposal.interventions}
    changed = kind.changes(plan, case.head_plan)
    outside = sorted((declared | changed) - kind.targets)
    unknown = sorted(set(plan.families) - set(context.domain.families()))
    refused = [f"allow-list: {target:.80} may not be changed" for target in outside]
    refused += [f"allow-list: it changes {target} and no intervention says so" for target in sorted(changed - declared)]
    other = kind.refuses(plan)
    refused += [f"allow-list: {other}"] if other else []
    refused += [f"allow-list: {family:.80} is no family of {context.domain.name}" for family in unknown]
    # an auditor that is a model is asked only about what the rules let through
    panel = [auditor for auditor in context.auditors if auditor.stage is Stage.SCREEN]
    found = [auditor.review(case) for auditor in panel if not auditor.asks]
    if not refused and all(review.passed for review in found):
        found += [auditor.review(case) for auditor in panel if auditor.asks]
    refused += [f"{review.kind}: {review.reason}" for review in found if not review.passed]
    soft = soft_score.score(context, proposal_json(case.proposal), case.head_plan, case.tried)
    found += [soft_score.review(soft)] if soft else []
    result: Json = {"refused": list(refused), "plan": plan.to_json(), "soft": soft.to_json() if soft else None}
    return _reviewed(context, number, name, "screen", found, result)


def _contamination(context: Context, row: RunRow, number: int, name: str, plan: Plan, gathered: Json) -> Done:
    """Training rows and worked examples against every evaluation set, before anything is built; the control's block."""
    kind = kind_of(context)
    made = kind.rows(context, plan, gathered)
    refused = [] if made or context.dry else ["data: no sample was verified and there is nothing to replay"]
    refused += kind.defects(context, plan)
    case = _case(context, number, name, "contamination", rows=made, reserved=_owner)
    found = [auditor.review(case) for auditor in context.auditors if auditor.kind == "contamination"]
    refused += [f"{review.kind}: {review.reason}" for review in found if not review.passed]
    if refused:
        return _reviewed(context, number, name, "contamination", found, {"refused": list(refused), "control": None})
    lines, block = kind.block(lines_of(row), number, plan)
    result: Json = {"refused": [], "control": block}
    return replace(_reviewed(context, number, name, "contamination", found, result), lines=lines)


def _owner(prompt: str) -> str | None:
    """The set that owns a prompt; None when it is free for training."""
    name = set_of(Item("", prompt, "").content_hash)
    return None if name == "train" else name


def _audit(context: Context, number: int, artifact: Artifact, admitted: Json, evaluated: Json) -> Done:
    """Constraints that every candidate must hold, whatever its score."""
    families = screening.added(screening.tallies_of(admitted["families"]), screening.tallies_of(evaluated["families"]))
    results = {family: (tally.wins, tally.losses, tally.pairs) for family, tally in families.items()}
    case = _case(context, number, artifact.name, "audit", family_results=results, floor=_floor(context))
    panel = [one for one in context.auditors if one.stage is Stage.AUDIT and one.kind != "contamination"]
    found = [auditor.review(case) for auditor in panel] + _constraints(context, admitted, evaluated)
    refused = [f"{review.kind}: {review.reason}" for review in found if not review.passed]
    return _reviewed(context, number, artifact.name, "audit", found, {"refused": list(refused)})


def _constraints(context: Context, admitted: Json, evaluated: Json) -> list[Review]:
    """The rule checks over everything the candidate was asked, pre-test and screen together."""

    def both(name: str) -> int:
        return cast(int, admitted[name]) + cast(int, evaluated[name])

    asked = both("asked")
    violations = [
        RuleCheck(cast(float, context.row.protocol["rule_share"])).judge(both("formed"), both("answered")),
        FailureRate().judge(both("candidate_missing"), both("baseline_missing"), asked),
    ]
    kinds = ("rules", "failures")
    return [
        Review(kind, violation is None, violation.reason if violation else f"held on {asked} items")
        for kind, violation in zip(kinds, violations, strict=True)
    ]


def _decide(context: Context, row: RunRow, number: int, artifact: Artifact, evaluated: Json, audited: Json) -> Done:
    """Constraints first, then the gate's ruling; a candidate that passes both becomes the working head."""
    refused = list(cast(list[str], audited["refused"]))
    screen = cast(Json, evaluated["screen"])
    if not refused and evaluated["ruling"] != Ruling.MOVE:
        estimate, threshold = _figure(screen["estimate"]), _figure(screen["threshold"])
        refused = [f"gate: screen estimate {estimate} does not reach {threshold} on {screen['pairs']} pairs"]
    moved = None if refused else lines_of(row).move(artifact, lines_of(row).gate, number)

    def write(tx: Connection) -> None:
        candidates.update(tx, context.run, artifact.name, artifact=artifact.to_json(), screen=screen)

    text = f"{artifact.name} refused: {refused[0]}" if refused else f"the working line moves to {artifact.name}"
    event = Event(EventKind.MESSAGE, text, number, "decide", "loop", data={"candidate": artifact.name})
    return Done({"refused": list(refused)}, [event], write, moved)


def _figure(value: JsonValue) -> str:
    return f"{value:.3f}" if isinstance(value, float | int) else "—"


def _conclude(
    context: Context, number: int, name: str, decision: str, reasons: list[str], certified: Json | None = None
) -> Json:
    """Phase: the candidate's decision, with its reasons, for the record and for the operator's memory."""
    version = cast(str | None, certified["version"]) if certified else None
    if decision == "reverted" and certified:
        violations = cast(list[str], certified["violations"])
        reasons = violations or [f"certification ended: {cast(Json, certified['certification'])['stopped']}"]
    summary = _summary(name, decision, reasons, version)

    def work(_: RunRow) -> Done:
        kind = EventKind.ERROR if decision == "error" else EventKind.MESSAGE
        event = Event(kind, summary, number, "conclude", "loop", data={"candidate": name, "decision": decision})
        return Done(
            {"decision": decision, "summary": summary, "version": version},
            [event],
            lambda tx: candidates.update(tx, context.run, name, decision=decision, reasons=list(reasons)),
        )

    memory.concluded(context)
    return context.journal.phase(number, "conclude", work, candidate=name)


def _summary(name: str, decision: str, reasons: list[str], version: str | None) -> str:
    if decision == "certified":
        return f"{name} is certified as {version}"
    if decision == "kept":
        return f"{name} is the new working head, not yet certified"
    return f"{name} {decision}: {reasons[0]}" if reasons else f"{name} {decision}"


def _case(
    context: Context,
    number: int,
    name: str,
    phase: str,
    *,
    rows: Sequence[Row] = (),
    reserved: Callable[[str], str | None] | None = None,
    family_results: Mapping[str, tuple[int, int, int]] | None = None,
    floor: float = 0.05,
) -> Case:
    with context.means.database.read() as tx:
        lines = lines_of(runs.require(tx, context.run))
        stored = candidates.require(tx, context.run, name)
        diagnosed = diagnosis.read(tx, context.run, number)
    return Case(
        proposal=proposal_of(stored.proposal),
        tried=memory.tried(context, lines.moved),
        brief=context.row.brief,
        families=diagnosed,
        desk=LoopDesk(context, number, phase, name),
        head_plan=plan_of(lines.head.plan) if lines.head.plan else None,
        rows=rows,
        reserved=reserved,
        family_results=family_results or {},
        floor=floor,
    )


def _floor(context: Context) -> float:
    return cast(float, context.row.protocol["floor"])


def _reviewed(context: Context, number: int, name: str, phase: str, found: Sequence[Review], result: Json) -> Done:
    """The end of a phase of reviews: one row and one event a review."""

    def write(tx: Connection) -> None:
        for review in found:
            reviews.put(tx, context.run, name, review.kind, passed=review.passed, reason=review.reason)

    told = [
        Event(
            EventKind.TOOL_RESULT,
            f"{review.kind} {'passes' if review.passed else 'rejects'} {name}: {review.reason}",
            number,
            phase,
            "auditor",
            review.kind,
            {"candidate": name, "passed": review.passed},
        )
        for review in found
    ]
    return Done(result, told, write)
