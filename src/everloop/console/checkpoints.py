"""Saved weights of a project, and the way to their files."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import pages
from everloop.console.run_links import run_links
from everloop.console.visits import Visit
from everloop.errors import CheckpointNotFound
from everloop.events import Json
from everloop.fields import part
from everloop.service.checkpoints import download, listing

ROWS = 25
"""Checkpoints of a page; each is looked at on disk."""


def checkpoints(visit: Visit) -> Response:
    """``GET /WORKSPACE/PROJECT/checkpoints``, newest first; ``run`` narrows it, ``cursor`` goes on.

    With ``checkpoint`` and ``file`` it is the file: a redirect to a link made at this moment, as one that a page held
    would no longer be good when somebody comes back to the page.
    """
    if visit.asked("checkpoint"):
        return _file(visit)
    run, cursor = visit.asked("run") or None, visit.asked("cursor") or None
    page = listing(visit.place, visit.person(), run_id=run, limit=ROWS, cursor=cursor)
    return pages.framed(
        visit,
        "checkpoints.html",
        page=page,
        links=run_links(visit, [str(one.get("run_id") or "") for one in page.items]),
        run=run,
        cursor=cursor or "",
    )


def _file(visit: Visit) -> Response:
    made: Json = download(visit.place, visit.person(), "", path=visit.asked("checkpoint"))
    address = part(made, "urls").get(visit.asked("file"))
    if not isinstance(address, str):
        raise CheckpointNotFound("this checkpoint has no such file", then="See the files that the list names")
    return pages.gone_to(visit.request, address)
