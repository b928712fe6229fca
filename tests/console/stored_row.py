"""The row of a run, and how all that is told of it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from stored_book import BEGAN, Book

from everloop.domains.registry import domain as find_domain
from everloop.events import Json
from everloop.ledger import caps
from everloop.loop.lines import Artifact, Control, Lines
from everloop.operators.auditors import panel as find_panel
from everloop.operators.registry import operator as find_operator
from everloop.service import new_run, protocols
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.request import StartRequest
from everloop.service.roles import choose
from everloop.store import runs, tables
from everloop.values import iso

BRIEF = "Improve multi-digit carries and borrows; nothing that works today may fall."
CONTROL = Control("checkpoints/control-0008", "81" * 32, rows=6600, steps=3500, blocks=7)


def starting(place: Installation, run: str, *, caller: Caller = LOCAL, **changes: Any) -> str:
    """A run that no worker has picked up: as the public start leaves it, but started when `Book`'s clock begins."""
    document = {
        "run": run,
        "brief": BRIEF,
        "domain": "arith",
        "rounds": 8,
        "limits": {"model_usd_cap": 5, "usd_cap": 8},
    }
    request, at = StartRequest.from_json(document), str(iso(BEGAN))
    domain = find_domain(request.domain)
    roles = choose(place, request, find_operator(request.options.operator), find_panel(request.options.auditors))
    new = new_run.made(place, request, protocols.freeze(request, domain, None), caller, roles)
    with place.database.write() as tx:
        runs.create(tx, new, at)
        caps.open_caps(tx, run, request.limits.to_json())
        asked = {"kind": "message", "text": f"run {run} requested by {caller.subject}", "data": {}}
        tx.execute(sa.insert(tables.events), {"run": run, "seq": 1, "at": at, **asked})
        tx.execute(sa.update(tables.runs).where(of_(run)).values(last_seq=1, **changes))
    return run


def book_of(run: str, caller: Caller) -> Book:
    return Book(run, owner={"workspace_id": caller.workspace_id, "project_id": caller.project_id})


def end(place: Installation, book: Book, *, money: bool = True, **columns: Any) -> str:
    if columns.get("state") in {"finished", "stopped", "failed"}:
        for steer in book.rows.get(tables.steers, []):
            steer["status"] = "dropped" if steer["status"] == "queued" else steer["status"]
    updated = {"last_seq": book.seq, "updated_at": book.at, "phase": book.phase, "lines": _lines(columns)}
    started = {"started_at": iso(book.now), "machine": "host-1, 8 cores, cpu x86_64"}
    with place.database.write() as tx:
        book.write(tx)
        tx.execute(sa.update(tables.runs).where(of_(book.run)).values(**started | updated | columns))
        if money:
            _spent(tx, book)
    return book.run


def _lines(columns: dict[str, Any]) -> Json | None:
    head, version = columns["working_head"], columns["best_version"]
    if version is None:
        return None
    base, now = (Artifact(name, f"checkpoints/{name}", "ab" * 32, 6600, "rows.jsonl") for name in ("v0", head))
    certified = replace(base, name=version, checkpoint=f"checkpoints/{version}")
    return Lines(now, certified, version, base, control=CONTROL).to_json()


def _spent(tx: Connection, book: Book) -> None:
    run, asked = book.run, round(book.spent.get("model_requests", 0))
    model, total = (round(book.spent.get(name, 0.0) * 1e6) for name in ("model_usd", "total_usd"))
    meters = {"model_usd_cap": model, "usd_cap": total, "model_request_cap": asked, "request_cap": asked}
    for cap, spent in meters.items():
        where = (tables.caps.c.run == run, tables.caps.c.cap == cap)
        tx.execute(sa.update(tables.caps).where(*where).values(spent=spent))
    for name, uses, size, most in (("dev", 7, 400, 20), ("certify", 1, 2000, 1), ("blind", 1, 2240, 1)):
        counted = {"generation": 1, "n": size, "uses": uses, "use_cap": most}
        tx.execute(sa.insert(tables.uses), {"run": run, "set": name, **counted})


def of_(run: str) -> sa.ColumnElement[bool]:
    return tables.runs.c.run == run
