"""What goes on in a project: runs, spend, and what needs a person."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import pages
from everloop.console.visits import Visit
from everloop.service import overview as overviews


def overview(visit: Visit) -> Response:
    """``/overview`` of a project."""
    found = overviews.of(visit.place, visit.person())
    return pages.framed(visit, "overview.html", overview=found, failed_days=overviews.FAILED_DAYS)
