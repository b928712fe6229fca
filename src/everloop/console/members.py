"""Members of a project, for an Admin."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from everloop.console import pages
from everloop.console.numbered import numbered
from everloop.console.visits import Visit
from everloop.service import people
from everloop.service.permissions import Permission


def members(visit: Visit) -> Response:
    """``GET /WORKSPACE/PROJECT/members``, longest there first. AccessDenied for whoever may not manage the project."""
    visit.person().require(Permission.MANAGE)
    found = [people.member_json(row) for row in people.members(visit.place, visit.person())]
    return pages.framed(visit, "members.html", page=numbered(visit, found), me=visit.person().subject)


def named(visit: Visit) -> Mapping[str, str]:
    """Subject -> name, of the project's members: who did something is told by name."""
    return {f"user:{row.user_id}": row.name for row in people.members(visit.place, visit.person())}
