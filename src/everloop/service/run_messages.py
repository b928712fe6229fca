"""Words to the operator of a run: steers for now, directives for good."""

from __future__ import annotations

from itertools import count

from sqlalchemy import Connection

from everloop.errors import InvalidDirective, InvalidSteer, RunNotActive
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.service import visibility
from everloop.service._run_changes import ACTIVE, fields_of, may_run, written
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.request import text_of
from everloop.store import directives, events, steers
from everloop.values import iso, utcnow


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

    return written(installation, write)


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

    return written(installation, write)


def steer_document(installation: Installation, run: str, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Steer from the JSON of a request: ``{"text"}``."""
    fields = fields_of(installation, run, document, caller, may_run, ("text",), InvalidSteer)
    return steer(installation, run, fields.get("text"), caller)


def directive_document(installation: Installation, run: str, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Add a directive from the JSON of a request: ``{"text"}``."""
    fields = fields_of(installation, run, document, caller, may_run, ("text",), InvalidDirective)
    return add_directive(installation, run, fields.get("text"), caller)
