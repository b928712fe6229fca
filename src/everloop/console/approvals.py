"""Approvals that wait for a person, and those decided: shown here, decided elsewhere."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import members, pages
from everloop.console.run_links import run_links
from everloop.console.visits import Visit
from everloop.service.approvals import listing
from everloop.store.approvals import APPROVED, PENDING, REJECTED

ROWS = 25
"""Approvals of a page."""


def approvals(visit: Visit) -> Response:
    """``GET /WORKSPACE/PROJECT/approvals``, newest first: those that wait, or those of another ``state``."""
    state, cursor = visit.asked("state") or PENDING, visit.asked("cursor") or None
    page = listing(visit.place, visit.person(), state=state, limit=ROWS, cursor=cursor)
    return pages.framed(
        visit,
        "approvals.html",
        page=page,
        links=run_links(visit, [str(one["run"]) for one in page.items]),
        people=members.named(visit),
        state=state,
        words=["", APPROVED, REJECTED],
        cursor=cursor or "",
    )
