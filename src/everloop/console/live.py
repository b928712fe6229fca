"""What a run does right now, for the page that is open on it: the piece of the page that shows it, as JSON.

Asked for every few seconds by every open tab, so it goes the short way of `api.polled`, and who has the present state
already gets 304. With OpenTelemetry there is no short way; then it is a page like any other.
"""

from __future__ import annotations

import hashlib
import json
import re

from starlette.requests import Request
from starlette.responses import Response

from everloop import __version__
from everloop.api import fresh
from everloop.api.numbers import number
from everloop.api.place import place
from everloop.api.polled import Poll
from everloop.api.rates import Rates
from everloop.console import cookies, members, pages
from everloop.console.connection import connected
from everloop.console.visits import Visit, in_project
from everloop.events import Json, JsonValue
from everloop.fields import parts
from everloop.service import access, runs
from everloop.service.document import EVENTS

ENDED = frozenset({"finished", "failed", "stopped", "unreadable"})
"""States after which nothing is asked any more; the script learns it from the page and from `told`."""
_ON_BOARD = ("state", "stop_requested", "round", "rounds_target", "phase", "best_version", "working_head", "limits")


def live(visit: Visit) -> Response:
    """``GET .../RUN/live?since=CURSOR``: see `told`."""
    run, caller = str(visit.request.path_params["run"]), visit.person()
    since = number(visit.request.query_params.get("since"))
    alive = connected(visit)
    mark = mark_of(visit, run, alive)

    def made() -> Json:
        document = runs.live(visit.place, run, since, caller)
        return told(document, mark, alive) | {"html": _html(visit, document)}

    return fresh.answer(visit.request, f"{visit.language.tag} {mark}", made)


def mark_of(visit: Visit, run: str, alive: bool) -> str:
    """A text that differs after every change of what is told of the run, or of how: a new release shows it otherwise.

    `alive`: as for `board_mark`.
    """
    return _digest(f"{__version__} {runs.mark(visit.place, run, visit.person())} {alive}")


def told(document: Json, mark: str, alive: bool) -> Json:
    """What the script needs to know of a live document besides the HTML that shows it.

    ``cursor``: the next `since`. ``more``: there are further events already. ``mark`` differs after every change,
    ``board`` after those that change the board at once; it takes the others in later.
    """
    return {
        "state": document["state"],
        "ended": document["state"] in ENDED,
        "cursor": document["next_cursor"],
        "more": len(parts(document, "events")) == EVENTS,
        "mark": mark,
        "board": board_mark(document, alive),
    }


def board_mark(document: Json, alive: bool) -> str:
    """A text that differs after those changes of a live document which the board shows at once.

    `alive`: whether a worker is; the board says so where none is, and the run alone does not tell.
    """
    jobs: list[JsonValue] = [f"{one.get('job_id')} {one.get('state')}" for one in parts(document, "jobs")]
    return _digest([*(document.get(name) for name in _ON_BOARD), jobs, alive])


def _html(visit: Visit, document: Json) -> str:
    people = members.named(visit)
    page = pages.shown(visit.request, "run/progress.html", live=document, here=visit.here, people=people)
    return bytes(page.body).decode()


def _digest(value: JsonValue) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _polled(request: Request, asked: re.Match[str]) -> Response:
    installation = place(request)
    caller = access.authenticate_session(installation, cookies.session(request))
    request.state.caller = caller
    rates: Rates = request.app.state.rates
    rates.count(caller.subject)
    request.scope["path_params"] = asked.groupdict()
    visit = Visit(request, installation, {}, caller)
    if (caller.workspace_id, caller.project_id) == (asked["workspace"], asked["project"]):
        return live(visit)  # the session looks at that project anyway: what it may do there was just read
    return _in_project(visit)


_in_project = in_project(live)
_PROJECT = "/(?P<workspace>[A-Za-z0-9_-]{1,128})/(?P<project>[A-Za-z0-9_:-]{1,128})"
POLLS = (
    Poll(
        re.compile(_PROJECT + "/rsi/(?P<group>[a-z]+)-loops/(?P<run>[a-z0-9-]{1,64})/live"),
        "/{workspace}/{project}/rsi/{group}-loops/{run}/live",
        _polled,
    ),
)
"""The console's polls, for the server."""
