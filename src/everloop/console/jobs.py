"""Train jobs of a project, and one of them: what was asked for, its log, the loop it belongs to."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from everloop.console import members, pages
from everloop.console.live import ENDED
from everloop.console.run_links import run_links
from everloop.console.visits import Visit
from everloop.errors import InvalidRequest
from everloop.events import Json
from everloop.fields import part
from everloop.service import runs
from everloop.service.figures import workers_alive
from everloop.service.jobs import listing, logs, result
from everloop.store.jobs import STATUSES

ROWS = 50
"""Jobs of a page of the list."""
SOURCES = ("", "system", "runtime")
"""Whose lines a log can be narrowed to; empty: all."""
LINES = 200
"""Lines of a page of a log; however much a job writes, a browser gets no more at once."""


def jobs(visit: Visit) -> Response:
    """``GET /WORKSPACE/PROJECT/experiment/jobs``, newest first; ``status`` narrows it, ``cursor`` goes on."""
    status, cursor = visit.asked("status") or None, visit.asked("cursor") or None
    page = listing(visit.place, visit.person(), status=status, limit=ROWS, cursor=cursor)
    named = {one["job_id"]: run_of(one) for one in page.items}
    return pages.framed(
        visit,
        "jobs.html",
        page=page,
        runs=named,
        links=run_links(visit, named.values()),
        chosen=status or "",
        statuses=["", *STATUSES],
        workers=workers_alive(visit.place),
        cursor=cursor or "",
    )


def job(visit: Visit) -> Response:
    """``GET .../experiment/jobs/JOB``: its details; ``tab`` ``log`` or, of a loop's job, ``progress`` instead."""
    caller = visit.person()
    document = result(visit.place, visit.request.path_params["job_id"], caller)
    run = run_of(document)
    link = run_links(visit, [run]).get(run)
    tab = visit.asked("tab") or "details"
    shown = {"details": _details, "log": _log, **({"progress": _progress} if link else {})}
    if tab not in shown:
        raise InvalidRequest(f"this job has no tab {tab!r:.40}", then=f"There are {', '.join(shown)}")
    return pages.framed(
        visit,
        "job.html",
        crumbs=[(str(document["job_id"]), None)],
        job=document,
        run=run,
        links={run: link} if link else {},
        tab=tab,
        tabs=[*shown],
        **shown[tab](visit, document),
    )


def run_of(document: Json) -> str:
    """The run that a job names, which groups it; empty when it names none. Whether there is one is not said."""
    training = part(document, "training")
    labels, given = part(training, "labels"), part(training, "user_metadata")
    return str(document.get("run") or labels.get("rsi_run") or given.get("rsi_run") or "")


def _details(visit: Visit, _document: Json) -> dict[str, Any]:
    return {"people": members.named(visit)}


def _log(visit: Visit, document: Json) -> dict[str, Any]:
    """The last lines; ``from=start`` the first ones, ``cursor`` those after it."""
    cursor, start = visit.asked("cursor") or None, visit.asked("from") == "start"
    source = visit.asked("source") or None
    log = logs(
        visit.place,
        str(document["job_id"]),
        visit.person(),
        source=source,
        tail=None if cursor or start else LINES,
        limit=LINES,
        cursor=cursor,
    )
    at_end = not cursor and not start
    return {"log": log, "lines": LINES, "source": source or "", "sources": SOURCES, "start": start, "at_end": at_end}


def _progress(visit: Visit, document: Json) -> dict[str, Any]:
    live = runs.live(visit.place, run_of(document), caller=visit.person())
    return {"live": live, "ended": live["state"] in ENDED, "people": members.named(visit)}
