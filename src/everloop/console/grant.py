"""Letting a command line in: a person enters the code that it shows, for one of their projects."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import pages
from everloop.console.visits import Visit
from everloop.errors import AccessDenied, EverloopError, InvalidRequest
from everloop.service import grants, sessions
from everloop.service.person import person_of

GRANT = "cli_login"
"""Field that names a grant."""


def grant_page(visit: Visit, grant_id: str, wrong: EverloopError | None = None, status: int = 200) -> Response:
    """The page that asks; `wrong`: why the last try did not work. For a grant that cannot be decided, why."""
    caller = visit.person()
    grants.waiting(visit.place, grant_id)
    person = person_of(visit.place, caller)
    if not person.memberships:
        raise AccessDenied("you are a member of no project", then="Ask an Admin to make you one, then open this again")
    context = {
        "grant_id": grant_id,
        "person": person,
        "project_id": visit.asked("project_id") or caller.project_id,
        "code": visit.asked("code") if wrong else "",
        "wrong": wrong,
        "days": grants.KEY_DAYS,
    }
    return pages.shown(visit.request, "grant.html", status, **context)


def decide(visit: Visit) -> Response:
    """``POST /sign-in/cli``: approve or deny."""
    caller, grant_id = visit.person(), visit.asked(GRANT)
    if visit.asked("decision") != "approve":
        grants.deny(visit.place, grant_id, caller)
        return pages.shown(visit.request, "granted.html", approved=False, project_id="")
    # for the named project alone: a wrong code, or a right one, leaves the session where it was
    acting = sessions.acting_in(visit.place, caller, visit.asked("project_id"))
    visit.request.state.caller = acting
    try:
        grants.approve(visit.place, grant_id, visit.asked("code"), acting)
    except InvalidRequest as error:
        visit.request.state.code = error.code
        return grant_page(visit, grant_id, error, 422)
    return pages.shown(visit.request, "granted.html", approved=True, project_id=acting.project_id)
