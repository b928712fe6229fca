"""The first page of a person who is signed in: who they are here, and what in which project."""

from __future__ import annotations

from starlette.responses import Response

from everloop.api.routes_auth import page_origin
from everloop.console import pages
from everloop.console.visits import Visit
from everloop.service import sessions
from everloop.service.person import person_of


def home(visit: Visit) -> Response:
    """``GET /``; who is not signed in is sent to do that."""
    if visit.caller is None:
        return pages.gone_to(visit.request, "/sign-in")
    return pages.shown(
        visit.request,
        "home.html",
        person=person_of(visit.place, visit.caller),
        project_id=visit.caller.project_id,
        permissions=sorted(visit.caller.permissions),
        address=page_origin(visit.request),
    )


def choose(visit: Visit) -> Response:
    """``POST /project``: look at another of one's projects."""
    visit.person()
    sessions.choose_project(visit.place, visit.session, visit.asked("project_id"))
    return pages.gone_to(visit.request, "/")
