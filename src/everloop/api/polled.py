"""The two routes that open tabs ask every few seconds, on a short way: one piece of work, the same functions.

FastAPI reads parameters and dependencies anew for each request, and hands each dependency and the route to threads one
by one. That is half the work of an answer that says "nothing new". Here the key, the look and the answer are one piece
of work: at once on SQLite, in one thread on PostgreSQL, which has to be waited for. What a caller gets is what the
routes in `routes_runs` give.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import anyio
import anyio.to_thread
from sqlalchemy.exc import DBAPIError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from everloop.api import envelope, fresh, routes_runs
from everloop.api.numbers import number
from everloop.api.place import place
from everloop.api.signed import known
from everloop.errors import EverloopError, StoreUnavailable
from everloop.service import runs
from everloop.store.database import transient

THREADS = 8
"""Polls at once; more threads would only wait for each other."""

_POLLED = re.compile(r"(?:/api)?/v1/agent-runs/rsi/runs(?:/([a-z0-9-]{1,64})/live)?")


@dataclass(frozen=True, slots=True)
class _Named:
    """What the figures of requests call the route."""

    path: str


_LIST, _LIVE = _Named("/agent-runs/rsi/runs"), _Named("/agent-runs/rsi/runs/{run}/live")


class Polled:
    """Answers polls; anything else goes on to the application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._limiter: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a poll, or pass a request on."""
        asked = _POLLED.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if asked is None:
            await self._app(scope, receive, send)
            return
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(THREADS)
        scope["route"] = _LIVE if asked[1] else _LIST
        request = Request(scope)
        if place(request).database.sqlite:
            # A read of SQLite is a millisecond that waits for nobody. Handed to threads, a poll cost twice the
            # processor time and, at 290 a second, waited seconds for its turn at the interpreter.
            response = _answer(request, asked[1])
        else:
            response = await anyio.to_thread.run_sync(_answer, request, asked[1], limiter=self._limiter)
        await response(scope, receive, send)


def _answer(request: Request, run: str | None) -> Response:
    try:
        return _told(request, run)
    except EverloopError as error:
        refused = error
    except DBAPIError as error:
        if not transient(error):
            raise
        refused = StoreUnavailable("the database does not answer", why=str(error.orig))
    request.state.code = envelope.wire_error(refused)[1]
    return envelope.refusal(refused)


def _told(request: Request, run: str | None) -> Response:
    installation, query = place(request), request.query_params
    caller = known(request, installation)
    if run is None:
        return routes_runs.list_runs(installation, caller, query.get("limit"), query.get("cursor"))
    since = number(query.get("since"))
    mark = runs.mark(installation, run, caller)
    return fresh.answer(request, mark, lambda: runs.live(installation, run, since, caller))
