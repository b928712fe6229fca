"""Train jobs for tests: requests, callers of two projects, and rows in the store without a training."""

from __future__ import annotations

from typing import Any

from everloop.domains.arith import Arith
from everloop.domains.stream import Stream
from everloop.events import Json
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Permission
from everloop.store import jobs
from everloop.store.jobs import JobRow, NewJob
from everloop.store.tables import jobs as table

WORK = frozenset({Permission.READ, Permission.RUN, Permission.STOP})


def caller(project: str = "p", *, permissions: frozenset[Permission] = WORK) -> Caller:
    return Caller(f"key:{project}", "w", project, permissions)


ALICE, OTHER = caller("p"), caller("q")


def rows(n: int = 40) -> list[dict[str, Any]]:
    items, _ = Stream(Arith(), 0).draw_balanced("train", n, {})
    return [{"family": item.family, "prompt": item.prompt, "completion": item.answer} for item in items]


def request(**changes: Any) -> dict[str, Any]:
    """A small request; names of `changes` with ``spec_`` go into its spec."""
    spec: dict[str, Any] = {"base_model": "nano", "rows": rows(4), "steps": 20, "batch_size": 8}
    body: dict[str, Any] = {"type": "train", "spec": spec}
    for name, value in changes.items():
        if name.startswith("spec_"):
            spec[name.removeprefix("spec_")] = value
        else:
            body[name] = value
    return body


def put(
    place: Installation, n: int = 1, *, project: str = "p", labels: Json | None = None, **columns: Any
) -> list[str]:
    """Record so many submitted jobs as the store holds them; `columns` are set afterwards."""
    ids = [jobs.new_id() for _ in range(n)]
    spec: Json = {"base_model": "nano", "user_metadata": {}, "time_limit_seconds": 60.0, "parent": None}
    with place.database.write() as tx:
        for job_id in ids:
            given = labels or {}
            run = str(given["rsi_run"]) if "rsi_run" in given else None
            jobs.submit(tx, NewJob(job_id, "w", project, "key:p", None, "d", "submitted", given, run, spec))
        if columns:
            tx.execute(table.update().where(table.c.job_id.in_(ids)).values(**columns))
    return ids


def row(place: Installation, job_id: str) -> JobRow:
    with place.database.read() as tx:
        found = jobs.by_id(tx, job_id)
    assert found is not None
    return found
