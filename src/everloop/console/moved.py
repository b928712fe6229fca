"""Old addresses, which go on to the pages of today."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import pages
from everloop.console.addresses import group_path, run_path
from everloop.console.visits import Visit
from everloop.service import groups, runs


def to_loops(visit: Visit) -> Response:
    """``/agent-runs`` of a project."""
    return pages.gone_to(visit.request, group_path(visit.here, groups.MODEL))


def to_run(visit: Visit) -> Response:
    """``/agent-runs/RUN`` of a project, on to the page of the run below its group."""
    run, caller = str(visit.request.path_params["run"]), visit.person()
    runs.mark(visit.place, run, caller)  # of what is not seen nothing is told, of what cannot be read its page
    group = groups.of(visit.place, {run}, caller)[run]
    return pages.gone_to(visit.request, run_path(visit.here, group, run))


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
