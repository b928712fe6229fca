"""Starting a run."""

from __future__ import annotations

from sqlalchemy import Connection

from everloop.domains.registry import domain as find_domain
from everloop.errors import Conflict, InvalidRequest
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.ledger import caps
from everloop.loop.prompted_student import identity
from everloop.operators.auditors import panel as find_panel
from everloop.operators.registry import operator as find_operator
from everloop.remote.launchers.registry import launcher as find_launcher
from everloop.service import new_run, protocols
from everloop.service._run_changes import may_run, written
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.request import StartRequest
from everloop.service.roles import choose
from everloop.service.runs import document
from everloop.store import events, runs
from everloop.students.registry import trainer as find_trainer
from everloop.values import iso, utcnow


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

    written(installation, write)
    return document(installation, request.run)


def start_document(installation: Installation, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Start a run from the JSON of a request; the permission is looked at before the request is."""
    may_run(caller)
    return start(installation, StartRequest.from_json(document), caller)
