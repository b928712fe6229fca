"""The run document: one shape for every interface, made from what the store holds. Absent is null, never 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import Connection

from everloop.domains.registry import domain as find_domain
from everloop.errors import InvalidRequest, NotFound, Unavailable
from everloop.events import Json, JsonValue, RecordedEvent
from everloop.evidence.gates import Gate, gate_from_json
from everloop.evidence.planning import minimum_detectable_effect
from everloop.evidence.protocol import EvaluationProtocol
from everloop.ledger import reservations
from everloop.service.approval_document import approval_json
from everloop.service.steps import steps
from everloop.store import (
    approvals,
    candidates,
    claims,
    directives,
    events,
    gates,
    itemsets,
    jobs,
    reviews,
    rounds,
    steers,
    versions,
)
from everloop.store import scores as stored_scores
from everloop.store.candidates import CandidateRow
from everloop.store.reviews import ReviewRow
from everloop.store.rounds import RoundRow
from everloop.store.runs import RunRow, RunSummary
from everloop.store.scores import ScoreRow

REVIEWS = 50
"""Newest reviews shown in the document."""
EVENTS = 200
"""Most events of one live answer."""

_TOOLS = {
    "calibrate": ("auditor", "judge"),
    "diagnose": ("operator", "diagnose"),
    "propose": ("operator", "propose"),
    "collect": ("student", "sample"),
    "launch": ("student", "train"),
    "train": ("student", "train"),
    "screen": ("auditor", "screen"),
    "contamination": ("auditor", "contamination"),
    "audit": ("auditor", "audit"),
    "evaluate": ("loop", "gate"),
    "certify": ("loop", "gate"),
    "final": ("loop", "gate"),
}

_CONTROL: Json = dict.fromkeys(("control_low", "control_high", "control_n"))
"""What gates that were held before these were recorded do not say."""
_TURNS = {"propose", "screen", "audit"}
"""Phases in which a language model may work in turns."""


def summary_row(tx: Connection, row: RunRow) -> Json:
    """The compact form: a row of the list."""
    return _summary(row, reservations.spend(tx, row.run))


def summary_rows(tx: Connection, rows: Sequence[RunSummary]) -> dict[str, Json]:
    """The compact form of several runs, by run; two statements, however many there are."""
    spent = reservations.spends(tx, [row.run for row in rows])
    return {row.run: _summary(row, spent[row.run]) for row in rows}


def _summary(row: RunRow | RunSummary, spend: reservations.Spend) -> Json:
    return {
        "run": row.run,
        "kind": row.kind,
        "state": row.state,
        "round": row.round,
        "rounds_target": row.rounds_target,
        "best_version": row.best_version,
        "spend": spend.to_json(),
        "owner": row.owner,
        "updated_at": row.updated_at,
    }


def run_document(tx: Connection, row: RunRow, most_rounds: int) -> Json:
    """Everything there is to know of a run, its newest `most_rounds` rounds included."""
    shown = rounds.newest(tx, row.run, limit=most_rounds)
    stored_gates = [_CONTROL | record.document for record in gates.listing(tx, row.run)]
    scored = _by_subject(stored_scores.listing(tx, row.run))
    told = steps(tx, row, stored_gates)
    return {
        **_head(tx, row),
        "protocol": _protocol(tx, row),
        "steps": cast(JsonValue, told),
        "versions": [_version(one, scored) for one in versions.listing(tx, row.run)],
        "control": _control(row, scored),
        "claims": [
            {
                "claim": one.claim,
                "candidate": one.candidate,
                "against": one.against,
                "alpha": one.alpha,
                "outcome": one.outcome,
                "at": one.at,
            }
            for one in claims.listing(tx, row.run)
        ],
        "gates": cast(JsonValue, stored_gates),
        "approvals": [approval_json(one) for one in approvals.of_run(tx, row.run)],
        "reviews": [_review(one) for one in reviews.newest(tx, row.run, limit=REVIEWS)],
        "rounds": cast(JsonValue, round_documents(tx, row.run, shown)),
        "rounds_total": rounds.total(tx, row.run),
        "directives": [
            {"text": one.text, "author": one.author, "at": one.at} for one in directives.listing(tx, row.run)
        ],
    }


def _head(tx: Connection, row: RunRow) -> Json:
    """The summary and what was frozen at the start."""
    return {
        **summary_row(tx, row),
        "group": row.group,
        "level": row.level,
        "domain": row.domain,
        "mode": row.mode,
        "stop_requested": row.stop_requested,
        "phase": row.phase,
        "brief": row.brief,
        "working_head": row.working_head,
        "created_at": row.created_at,
        "machine": row.machine,
        "error": row.error,
        "limits": row.limits,
        "goal": row.goal,
        "stop": row.stop,
        "options": row.options,
    }


def _protocol(tx: Connection, row: RunRow) -> Json:
    frozen = row.protocol
    gate = gate_from_json(cast(Json, frozen["gate"]))
    uses = {use.set: use for use in itemsets.current_uses(tx, row.run)}
    sets: list[JsonValue] = []
    for name, size in (("dev", frozen["dev_n"]), ("certify", frozen["certify_pairs"]), ("blind", frozen["blind_n"])):
        use = uses.get(name)
        cap = use.use_cap if use else (cast(int, frozen["dev_use_cap"]) if name == "dev" else 1)
        sets.append({"set": name, "n": size, "uses": use.uses if use else None, "use_cap": cap})
    return {
        **frozen,
        "sha256": row.protocol_sha256,
        "gate": _gate(gate, cast(Json, frozen["gate"])),
        "judge": {"id": frozen["judge"], "version": frozen["judge_version"]},
        "sets": sets,
        "false_claim_bound": _false_claim_bound(tx, row.run),
        "minimum_detectable_effect": minimum_detectable_effect(gate),
        "rounds_supply": _rounds_supply(tx, row),
        "worst_case_usd": row.worst_case_usd,
    }


def _rounds_supply(tx: Connection, row: RunRow) -> int | None:
    """Rounds that fresh items last for; None when the domain is not installed any more."""
    try:
        domain = find_domain(row.domain)
    except (InvalidRequest, Unavailable):
        return None
    supply = {family: domain.supply(family) for family in domain.families()}
    return EvaluationProtocol.from_json(row.protocol).carries(supply, final_gates=gates.finals(tx, row.run) + 1)


def _gate(gate: Gate, policy: Json) -> Json:
    """The policy with every parameter; its least screen estimate is null where it has no screen."""
    effect = policy.get("step", policy.get("gain"))
    return {"policy": gate.name, "alpha": gate.alpha, "min_effect": effect, **policy}


def _false_claim_bound(tx: Connection, run: str) -> JsonValue:
    """Union bound on the chance of any false claim: the levels of all tests so far; null where one had none."""
    levels = [one.alpha for one in claims.listing(tx, run)]
    known = [alpha for alpha in levels if alpha is not None]
    return min(1.0, round(sum(known), 6)) if len(known) == len(levels) else None


def _by_subject(found: list[ScoreRow]) -> dict[str, list[JsonValue]]:
    split: dict[str, list[JsonValue]] = {}
    for one in found:
        split.setdefault(one.subject, []).append(
            {
                "set": one.set,
                "split": one.split,
                "mean": one.mean,
                "low": one.low,
                "high": one.high,
                "n": one.n,
                "missing": one.missing,
            }
        )
    return split


def _version(one: versions.VersionRow, scored: dict[str, list[JsonValue]]) -> Json:
    return {
        "version": one.version,
        "parent": one.parent,
        "round": one.round,
        "candidate": one.candidate,
        "rows": one.rows,
        "artifact": one.artifact,
        "scores": scored.get(one.version, []),
    }


def _control(row: RunRow, scored: dict[str, list[JsonValue]]) -> JsonValue:
    arm = cast(Json, row.lines["control"]) if row.lines and row.lines.get("control") else None
    if arm is None or not arm["blocks"]:
        return None
    artifact: Json = {"type": "checkpoint", "path": arm["checkpoint"], "sha256": arm["sha256"]}
    return {
        "rows": arm["rows"],
        "steps": arm["steps"],
        "steps_missed": arm["missed"],
        "artifact": artifact,
        "scores": scored.get("control", []),
    }


def _review(one: ReviewRow) -> Json:
    return {"kind": one.kind, "version": one.candidate, "passed": one.passed, "reason": one.reason, "at": one.at}


def round_document(tx: Connection, row: RunRow, number: int) -> Json:
    """One round with everything. NotFound when it has not begun."""
    found = rounds.get(tx, row.run, number)
    if found is None:
        raise NotFound(f"run {row.run} has no round {number}", why=f"it is at round {row.round} of {row.rounds_target}")
    return round_documents(tx, row.run, [found])[0]


def round_documents(tx: Connection, run: str, shown: Sequence[RoundRow]) -> list[Json]:
    """These rounds with everything; three statements, however many there are."""
    numbers = [one.round for one in shown]
    made = candidates.of_rounds(tx, run, numbers)
    reviewed: dict[str, list[JsonValue]] = {}
    for review in reviews.of_candidates(tx, run, [one.candidate for one in made]):
        reviewed.setdefault(review.candidate, []).append(_review(review))
    by_round: dict[int, list[CandidateRow]] = {}
    for one in made:
        by_round.setdefault(one.round, []).append(one)
    return [_round(one, by_round.get(one.round, []), reviewed) for one in shown]


def _round(one: RoundRow, made: list[CandidateRow], reviewed: dict[str, list[JsonValue]]) -> Json:
    first = made[0].proposal if made else {}
    return {
        "round": one.round,
        "decision": one.decision,
        "summary": one.summary,
        "version": one.version,
        "plan": one.plan,
        "interventions": first.get("interventions", []),
        "candidates": [
            {
                "candidate": candidate.candidate,
                "decision": candidate.decision,
                "artifact": candidate.artifact,
                "reasons": cast(JsonValue, candidate.reasons),
                "proposal": candidate.proposal,
                "reviews": reviewed.get(candidate.candidate, []),
                "screen": candidate.screen,
                "certification": candidate.certification,
            }
            for candidate in made
        ],
        "spend": one.spend,
        "started_at": one.started_at,
        "ended_at": one.ended_at,
    }


def live_document(tx: Connection, row: RunRow, since: int | None) -> Json:
    """The live view; with nothing new, ``next_cursor`` equals `since`."""
    found = events.newest(tx, row.run, EVENTS) if since is None else events.since(tx, row.run, since, EVENTS)
    role, tool = _at_work(row, found[-1:] or events.newest(tx, row.run, 1))
    active = row.state in {"starting", "running"} and row.phase is not None
    return {
        "run": row.run,
        "state": row.state,
        "stop_requested": row.stop_requested,
        "round": row.round,
        "rounds_target": row.rounds_target,
        "phase": row.phase,
        "current": {"role": role, "tool": tool, "started_at": row.updated_at} if active else None,
        "events": [_event(one) for one in found],
        "next_cursor": found[-1].seq if found else (since or 0),
        "steers": [
            {"id": one.id, "status": one.status, "text": one.text, "author": one.author, "at": one.at}
            for one in steers.listing(tx, row.run)
        ],
        "jobs": [_job(one) for one in jobs.of_run(tx, row.run, limit=20)],
        "spend": cast(JsonValue, reservations.spend(tx, row.run).to_json()),
        "limits": row.limits,
        "best_version": row.best_version,
        "working_head": row.working_head,
        "updated_at": row.updated_at,
    }


def _at_work(row: RunRow, newest: list[RecordedEvent]) -> tuple[str, str | None]:
    """Role and tool in use: those of the newest event where a model works in turns, else those of the phase."""
    if newest and newest[-1].event.phase == row.phase and row.phase in _TURNS and newest[-1].event.role:
        return newest[-1].event.role, newest[-1].event.tool
    return _TOOLS.get(row.phase or "", ("loop", None))


def _event(one: RecordedEvent) -> Json:
    event = one.event
    return {
        "seq": one.seq,
        "at": one.at,
        "kind": str(event.kind),
        "text": event.text,
        "round": event.round,
        "phase": event.phase,
        "role": event.role,
        "tool": event.tool,
        "data": dict(event.data),
    }


def _job(one: jobs.JobRow) -> Json:
    return {
        "job_id": one.job_id,
        "job": one.job,
        "round": one.round,
        "purpose": one.purpose,
        "state": one.state,
        "seconds": one.seconds,
        "labels": one.labels,
        "created_at": one.created_at,
    }
