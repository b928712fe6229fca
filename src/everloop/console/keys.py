"""API keys of a project, for an Admin; never a key itself."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import members, pages
from everloop.console.numbered import numbered
from everloop.console.visits import Visit
from everloop.service.keys import key_json, list_keys


def keys(visit: Visit) -> Response:
    """``GET /WORKSPACE/PROJECT/keys``, newest first. AccessDenied for whoever may not manage the project."""
    found = [key_json(row) for row in reversed(list_keys(visit.place, visit.person()))]
    return pages.framed(visit, "keys.html", page=numbered(visit, found), people=members.named(visit))
