"""Old addresses, which go on to the pages of today."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import pages
from everloop.console.visits import Visit
from everloop.service import groups


def to_loops(visit: Visit) -> Response:
    """``/agent-runs`` of a project."""
    return pages.gone_to(visit.request, f"{visit.here}/rsi/{groups.MODEL}-loops")


def to_run(visit: Visit) -> Response:
    """``/agent-runs/RUN`` of a project, on to the page of the run below its group."""
    run = str(visit.request.path_params["run"])
    group = groups.of(visit.place, run, visit.person())
    return pages.gone_to(visit.request, f"{visit.here}/rsi/{group}-loops/{run}")


def home_to_loops(visit: Visit) -> Response:
    """``/agent-runs`` without a project: that of the session."""
    return _in_chosen_project(visit, "")


def home_to_run(visit: Visit) -> Response:
    """``/agent-runs/RUN`` without a project."""
    return _in_chosen_project(visit, f"/{visit.request.path_params['run']}")


def _in_chosen_project(visit: Visit, below: str) -> Response:
    if visit.caller is None:
        return pages.gone_to(visit.request, "/sign-in", next=f"/agent-runs{below}")
    return pages.gone_to(visit.request, f"/{visit.caller.workspace_id}/{visit.caller.project_id}/agent-runs{below}")
