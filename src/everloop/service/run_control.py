"""What an owner does with a run under way: stop, resume, extend."""

from __future__ import annotations

from sqlalchemy import Connection

from everloop.domains.registry import domain as find_domain
from everloop.errors import Conflict, InvalidRequest
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.evidence.protocol import EvaluationProtocol
from everloop.ledger import caps
from everloop.service import protocols, visibility
from everloop.service._run_changes import ACTIVE, fields_of, may_run, may_stop, written
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.request import ROUNDS, whole
from everloop.store import approvals, events, gates, phases, runs, steers
from everloop.store.runs import RunRow
from everloop.values import iso, utcnow

ACTIONS = ("extend", "stop", "resume")
"""What `control` does."""


def control(
    installation: Installation, run: str, action: JsonValue, rounds: JsonValue = None, caller: Caller = LOCAL
) -> Json:
    """Extend, stop or resume a run, as the wire contract has it; `rounds` goes with extend only."""
    (may_stop if action == "stop" else may_run)(caller)  # before the look whether there is such a run
    with installation.database.read() as tx:
        visibility.require(tx, run, caller)
    if not isinstance(action, str) or action not in ACTIONS:
        raise InvalidRequest(f"action must be one of {', '.join(ACTIONS)}", why=f"got {action!r:.80}")
    if action == "extend":
        return extend(installation, run, rounds, caller)
    if rounds is not None:
        raise InvalidRequest("rounds goes with extend only", why=f"the action is {action}", then="Leave it out")
    return stop(installation, run, caller) if action == "stop" else resume(installation, run, caller)


def control_document(installation: Installation, run: str, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Control from the JSON of a request: ``{"action", "rounds"?}``."""
    action = document.get("action") if isinstance(document, dict) else None
    may = may_stop if action == "stop" else may_run
    fields = fields_of(installation, run, document, caller, may, ("action", "rounds"), InvalidRequest)
    return control(installation, run, action, fields.get("rounds"), caller)


def stop(installation: Installation, run: str, caller: Caller = LOCAL) -> Json:
    """Stop after the current round; a paused run stops at once."""
    may_stop(caller)
    at = iso(utcnow())

    def write(tx: Connection) -> Json:
        row = visibility.require(tx, run, caller, lock=True)
        if row.state == "stopped" and row.ended_at == at:  # an earlier try wrote it, and its answer was lost
            return _controlled(tx, run, "stop")
        if row.state not in ACTIVE:
            raise Conflict(f"run {run} cannot be stopped", why=f"it is {row.state}")
        if row.state == "paused":
            runs.update(tx, run, state="stopped", stop_requested=False, ended_at=at)
            steers.drop(tx, run)
            events.append(tx, run, Event(EventKind.ROUND, f"run {run} stopped while paused", data={"state": "stopped"}))
        elif not row.stop_requested:
            runs.update(tx, run, stop_requested=True)
            events.append(tx, run, Event(EventKind.MESSAGE, "stop requested: it acts after the current round"))
        return _controlled(tx, run, "stop")

    return written(installation, write)


def resume(installation: Installation, run: str, caller: Caller = LOCAL) -> Json:
    """Go on with a paused or stopped run. Conflict in any other state or when a cap is exhausted."""
    may_run(caller)
    seen: list[int] = []

    def write(tx: Connection) -> Json:
        row = visibility.require(tx, run, caller, lock=True)
        if _gone_on(row, seen):
            return _controlled(tx, run, "resume")
        if row.state not in {"paused", "stopped"}:
            raise Conflict(f"run {run} cannot be resumed", why=f"it is {row.state}", then=_instead(row))
        _go_on(tx, row, "resumed")
        return _controlled(tx, run, "resume")

    return written(installation, write)


def extend(installation: Installation, run: str, rounds: JsonValue, caller: Caller = LOCAL) -> Json:
    """Set a new target; a finished or stopped run goes on. Conflict below the current round or without supply."""
    may_run(caller)
    seen: list[int] = []

    def write(tx: Connection) -> Json:
        row = visibility.require(tx, run, caller, lock=True)
        target = whole(rounds, "rounds", *ROUNDS)
        if _gone_on(row, seen) and row.rounds_target == target:
            return _controlled(tx, run, "extend")
        if row.state == "failed":
            raise Conflict(f"run {run} cannot be extended", why="it has failed for good")
        if row.state in ACTIVE and phases.get(tx, run, 0, "closing", f"g{row.generation}") is not None:
            raise Conflict(f"run {run} is closing", then="Extend it when it has ended")
        if target < row.round + (row.state == "finished"):
            raise Conflict(f"run {run} cannot be extended to {target} rounds", why=f"it is at round {row.round}")
        protocol = EvaluationProtocol.from_json(row.protocol)
        held = gates.finals(tx, run)
        protocols.check(protocol, find_domain(row.domain), row.round + 1, final_gates=held + 1)
        runs.update(tx, run, rounds_target=target)
        events.append(tx, run, Event(EventKind.MESSAGE, f"target set to {target} rounds", data={"rounds": target}))
        if row.state in {"finished", "stopped"}:
            _go_on(tx, row, "extended")
        return _controlled(tx, run, "extend")

    return written(installation, write)


def _gone_on(row: RunRow, seen: list[int]) -> bool:
    """Whether the run has begun a new generation since the first try, which is noted in `seen`: its answer was lost."""
    seen.append(row.generation)
    return row.generation > seen[0]


def _go_on(tx: Connection, row: RunRow, how: str) -> None:
    """A new generation, if the caps leave room for one and nobody's decision is waited for."""
    asked = approvals.waiting(tx, row.run)
    if asked is not None:
        why = f"{asked.candidate} waits for approval {asked.approval_id}"
        then = f"Decide with `el approve decide {asked.approval_id}`; a paused run then goes on by itself"
        raise Conflict(f"run {row.run} cannot be {how}", why=why, then=then)
    exhausted = caps.exhausted(tx, row.run)
    if exhausted:
        raise Conflict(f"run {row.run} cannot be {how}", why=f"{exhausted} is exhausted", then="Start a new run")
    if not runs.renew(tx, row.run, row.generation):
        raise Conflict(f"run {row.run} cannot be {how}", why="another caller was faster")
    runs.update(tx, row.run, stop_requested=False)
    events.append(tx, row.run, Event(EventKind.MESSAGE, f"run {row.run} {how}"))


def _instead(row: RunRow) -> str:
    return "Extend it to a higher target" if row.state == "finished" else ""


def _controlled(tx: Connection, run: str, action: str) -> Json:
    row = runs.require(tx, run)
    return {
        "run": run,
        "action": action,
        "state": row.state,
        "rounds_target": row.rounds_target,
        "stop_requested": row.stop_requested,
    }
