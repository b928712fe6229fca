"""The page of a run: what it has shown, Loop progress, Loop board."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from everloop.console import members, pages
from everloop.console.addresses import group_path, run_path
from everloop.console.board import Board
from everloop.console.board import board as board_of
from everloop.console.connection import connected
from everloop.console.live import ENDED, board_mark, mark_of
from everloop.console.visits import Visit
from everloop.events import Json
from everloop.report.why import why
from everloop.service import runs
from everloop.service.figures import workers_alive


def run(visit: Visit) -> Response:
    """``/rsi/GROUP-loops/RUN``: everything there is to see of a run; ``?rounds=N``: its rounds up to the Nth.

    In another group than the run's own, a redirect to where it belongs.
    """
    name = _name(visit)
    # first what the script compares with: a change while the rest is read is then one that it has not seen
    seen = mark_of(visit, name, connected(visit))
    live = runs.live(visit.place, name, None, visit.person())
    found = board_of(visit, name)
    group, asked = found.run.get("group"), visit.request.path_params["group"]
    own = run_path(visit.here, group, name)
    if group is not None and own != f"{group_path(visit.here, asked)}/{name}":
        return pages.gone_to(visit.request, own, rounds=visit.asked("rounds"))
    shown = _shown(visit, found, live)
    mark = board_mark(live, shown["workers"] > 0)
    ended = live["state"] in ENDED
    return pages.framed(visit, "run.html", 200, crumbs=[(name, None)], mark=mark, seen=seen, ended=ended, **shown)


def board(visit: Visit) -> Response:
    """``.../RUN/board``: what is within the page's element of that id, for the script that keeps the page up to date.

    Its list of recent activity is empty: the script keeps that itself.
    """
    name = _name(visit)
    live = runs.live(visit.place, name, 2**53, visit.person())
    shown = _shown(visit, board_of(visit, name), live)
    return pages.shown(visit.request, "run/board.html", 200, here=visit.here, **shown)


def _name(visit: Visit) -> str:
    return str(visit.request.path_params["run"])


def _shown(visit: Visit, found: Board, live: Json) -> Mapping[str, Any]:
    """What the templates show, and what they call: ``why`` of a candidate."""
    path = run_path(visit.here, visit.request.path_params["group"], _name(visit))
    documents = {"board": found, "run": found.run, "live": live, "workers": workers_alive(visit.place)}
    called = {"people": members.named(visit), "why": lambda candidate: why(candidate, visit.language)}
    return documents | {"path": path} | called
