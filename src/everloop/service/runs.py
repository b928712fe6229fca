"""Use cases on runs: start, steer, direct, stop, resume, extend, list, look."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TypeVar

from sqlalchemy import Connection

from everloop.domains.registry import domain as find_domain
from everloop.errors import Conflict, InvalidDirective, InvalidRequest, InvalidSteer, RunNotActive, RunUnreadable
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.evidence.protocol import EvaluationProtocol
from everloop.ledger import caps
from everloop.loop.prompted_student import identity
from everloop.operators.auditors import panel as find_panel
from everloop.operators.registry import operator as find_operator
from everloop.remote.launchers.registry import launcher as find_launcher
from everloop.service import new_run, protocols, unreadable, visibility
from everloop.service.caller import LOCAL, Caller
from everloop.service.document import live_document, round_document, run_document, summary_row
from everloop.service.installation import Installation
from everloop.service.listed import listed
from everloop.service.pages import Page, checked_limit, page, place_of
from everloop.service.permissions import Permission
from everloop.service.request import ROUNDS, StartRequest, text_of, whole
from everloop.service.roles import choose
from everloop.store import approvals, directives, events, gates, phases, runs, steers
from everloop.store.runs import RunRow, Wanted
from everloop.students.registry import trainer as find_trainer
from everloop.values import iso, utcnow

T = TypeVar("T")

ACTIVE = ("starting", "running", "paused")
"""States in which a run takes steers and directives."""


def may_run(caller: Caller) -> None:
    """AccessDenied unless the caller may start and change runs: it is told of them, so it reads as well."""
    for permission in (Permission.READ, Permission.RUN):
        caller.require(permission)


def may_stop(caller: Caller) -> None:
    """AccessDenied unless the caller may stop runs, which it must be able to change."""
    may_run(caller)
    caller.require(Permission.STOP)


def start(installation: Installation, request: StartRequest, caller: Caller = LOCAL) -> Json:
    """Record a run and freeze its protocol; a worker picks it up. Conflict when the id exists or no slot is free."""
    may_run(caller)
    domain = find_domain(request.domain)
    operator, panel = find_operator(request.options.operator), find_panel(request.options.auditors)
    find_launcher(request.options.launcher)
    if not request.dry_run:
        find_trainer(request.options.trainer)
    if request.goal is not None and request.goal.split not in {"all", *domain.families()}:
        known = ", ".join(("all", *domain.families()))
        raise InvalidRequest(f"goal.split {request.goal.split} is not known", then=f"Known: {known}")
    subject = "prompt" if request.dry_run else "training"
    if subject not in operator.subjects:
        fits = "live runs, which train" if "training" in operator.subjects else "dry runs, which change a prompt"
        raise InvalidRequest(f"operator {request.options.operator} is for {fits}", then="Name another operator")
    roles = choose(installation, request, operator, panel)
    protocol = protocols.freeze(request, domain, identity(roles.student) if roles.student else None)
    new = new_run.made(installation, request, protocol, caller, roles)
    asked_at = str(iso(utcnow()))

    def write(tx: Connection) -> None:
        most, active = installation.settings.max_active_runs, runs.active_count(tx)
        if new_run.is_there(runs.get(tx, request.run), new, asked_at):
            return  # an earlier try wrote it, and its answer was lost
        if active >= most:
            raise Conflict("no run slot is free", why=f"{most} runs are active", then="Stop one or wait")
        runs.create(tx, new, asked_at)
        caps.open_caps(tx, request.run, request.limits.to_json())
        events.append(tx, request.run, Event(EventKind.MESSAGE, f"run {request.run} requested by {caller.subject}"))

    _write(installation, write)
    return document(installation, request.run)


def start_document(installation: Installation, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Start a run from the JSON of a request; the permission is looked at before the request is."""
    may_run(caller)
    return start(installation, StartRequest.from_json(document), caller)


def document(
    installation: Installation, run: str, *, rounds: int = 50, compact: bool = False, caller: Caller = LOCAL
) -> Json:
    """The run document (one shape for every interface), or its summary row; RunNotFound for an unknown run."""
    caller.require(Permission.READ)
    try:
        with installation.database.read() as tx, unreadable.refused(run):
            row = visibility.require(tx, run, caller)
            return summary_row(tx, row) if compact else run_document(tx, row, rounds)
    except RunUnreadable as error:
        return unreadable.summary(run, error) if compact else unreadable.detail(run, error)


def round(installation: Installation, run: str, number: JsonValue, caller: Caller = LOCAL) -> Json:  # noqa: A001 - its noun
    """One round with everything: decision, plan, interventions, reviews, summary. NotFound when it was not begun."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        row = visibility.require(tx, run, caller)
        wanted = whole(number, "round", 1, 2**31 - 1)
        with unreadable.refused(run):
            return round_document(tx, row, wanted)


def live(installation: Installation, run: str, since: JsonValue = None, caller: Caller = LOCAL) -> Json:
    """What the run does right now: state, phase, events after `since` (at most 200), steers, jobs, spend."""
    caller.require(Permission.READ)
    try:
        with installation.database.read() as tx:
            row = visibility.require(tx, run, caller)
            seq = _since(since)
            with unreadable.refused(run):
                return live_document(tx, row, seq)
    except RunUnreadable as error:
        return unreadable.live(run, error, _since(since))


def _since(value: JsonValue) -> int | None:
    return None if value is None else whole(value, "since", 0, 2**53)


def mark(installation: Installation, run: str, caller: Caller = LOCAL) -> str:
    """A text that differs after every change of what is told of the run."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        return visibility.mark(tx, run, caller)


START = "No runs yet. Start one with POST /v1/agent-runs/rsi/runs, the MCP tool rsi_start_run, or `el job run start`."
"""What an empty list says."""


def pages(
    installation: Installation,
    *,
    limit: JsonValue = None,
    cursor: str | None = None,
    group: str | None = None,
    caller: Caller = LOCAL,
) -> Page:
    """A page of the summary rows of the runs the caller sees, newest update first; `group`: only those of one."""
    caller.require(Permission.READ)
    most, before = checked_limit(limit), place_of(cursor, 2)
    project = None if caller.sees_all else caller.project_id
    with installation.database.read() as tx:
        last = (before[0], before[1]) if before else None
        rows = listed(tx, Wanted(limit=most + 1, before=last, project_id=project, group=group))
        return page(rows, most, lambda row: (row.updated_at, row.run), lambda row: row.told)


def listing(installation: Installation, limit: int = 25, caller: Caller = LOCAL) -> list[Json]:
    """Summary rows, newest update first."""
    return list(pages(installation, limit=limit, caller=caller).items)


def steer(installation: Installation, run: str, text: JsonValue, caller: Caller = LOCAL) -> Json:
    """Queue a message to the running operator; it is delivered at the next turn boundary."""
    may_run(caller)
    at = str(iso(utcnow()))

    def write(tx: Connection) -> Json:
        row = visibility.require(tx, run, caller, lock=True)
        checked = text_of(text, InvalidSteer, "text")
        queued = steers.find(tx, run, checked, caller.subject, at)
        if queued is None:  # else an earlier try wrote it, and its answer was lost
            if row.state not in ACTIVE:
                raise RunNotActive(f"run {run} takes no steers", why=f"it is {row.state}")
            queued = steers.queue(tx, run, checked, caller.subject, at)
            told = Event(EventKind.STEER, f"steer queued: {checked}", data={"steer": queued.id, "status": "queued"})
            events.append(tx, run, told)
        return {"id": queued.id, "status": queued.status, "at": queued.at, "author": queued.author}

    return _write(installation, write)


def add_directive(installation: Installation, run: str, text: JsonValue, caller: Caller = LOCAL) -> Json:
    """Append a standing instruction; the operator sees all of them from its next turn on."""
    may_run(caller)
    asked_at = str(iso(utcnow()))
    tries = count()

    def write(tx: Connection) -> Json:
        row = visibility.require(tx, run, caller, lock=True)
        checked = text_of(text, InvalidDirective, "text")
        if next(tries):  # an earlier try may have written it, and its answer was lost
            for one in directives.listing(tx, run):
                if one.at >= asked_at and (one.text, one.author) == (checked, caller.subject):
                    return {"text": one.text, "author": one.author, "at": one.at}
        if row.state == "failed":
            raise RunNotActive(f"run {run} takes no directives", why="it has failed for good")
        added = directives.append(tx, run, checked, caller.subject)
        events.append(tx, run, Event(EventKind.MESSAGE, f"directive added: {checked}"))
        return {"text": added.text, "author": added.author, "at": added.at}

    return _write(installation, write)


def steer_document(installation: Installation, run: str, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Steer from the JSON of a request: ``{"text"}``."""
    fields = _fields(installation, run, document, caller, may_run, ("text",), InvalidSteer)
    return steer(installation, run, fields.get("text"), caller)


def directive_document(installation: Installation, run: str, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Add a directive from the JSON of a request: ``{"text"}``."""
    fields = _fields(installation, run, document, caller, may_run, ("text",), InvalidDirective)
    return add_directive(installation, run, fields.get("text"), caller)


def control_document(installation: Installation, run: str, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Control from the JSON of a request: ``{"action", "rounds"?}``."""
    action = document.get("action") if isinstance(document, dict) else None
    may = may_stop if action == "stop" else may_run
    fields = _fields(installation, run, document, caller, may, ("action", "rounds"), InvalidRequest)
    return control(installation, run, action, fields.get("rounds"), caller)


def _fields(
    installation: Installation,
    run: str,
    document: JsonValue,
    caller: Caller,
    may: Callable[[Caller], None],
    known: tuple[str, ...],
    error: type[InvalidRequest],
) -> Json:
    """The fields of a request on a run: first the permission, then whether the run is there, then what was sent."""
    may(caller)
    with installation.database.read() as tx:
        visibility.require(tx, run, caller)
    if not isinstance(document, dict):
        raise error("the body must be a JSON object", then=f"Send {', '.join(known)}")
    unknown = sorted(set(document) - set(known))
    if unknown:
        raise error(f"{unknown[0]:.80} is not known", then=f"Known: {', '.join(known)}")
    return document


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

    return _write(installation, write)


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

    return _write(installation, write)


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

    return _write(installation, write)


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


def _write(installation: Installation, use: Callable[[Connection], T]) -> T:
    def whole_transaction() -> T:
        with installation.database.write() as tx:
            return use(tx)

    return installation.database.retrying(whole_transaction)
