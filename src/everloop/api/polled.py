"""Routes that open tabs ask every few seconds, on a short way: one piece of work, the same functions.

FastAPI reads parameters and dependencies anew for each request, and hands each dependency and the route to threads one
by one. That is half the work of an answer that says "nothing new". Here the key, the look and the answer are one piece
of work: at once on SQLite, in one thread on PostgreSQL, which has to be waited for. What a caller gets is what the
routes in `routes_runs` give. The console has a poll of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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


@dataclass(frozen=True, slots=True)
class Poll:
    """One route on the short way."""

    asked: re.Pattern[str]
    """Its path, whole."""
    path: str
    """What the figures of requests call it."""
    answer: Callable[[Request, re.Match[str]], Response]
    """What it gives; it may raise errors of ours."""


class Polled:
    """Answers polls; anything else goes on to the application."""

    def __init__(self, app: ASGIApp, polls: Sequence[Poll]) -> None:
        self._app, self._polls = app, polls
        self._limiter: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a poll, or pass a request on."""
        found = self._found(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(THREADS)
        poll, asked = found
        scope["route"] = poll
        request = Request(scope)
        if place(request).database.sqlite:
            # A read of SQLite is a millisecond that waits for nobody. Handed to threads, a poll cost twice the
            # processor time and, at 290 a second, waited seconds for its turn at the interpreter.
            response = _answer(poll, request, asked)
        else:
            response = await anyio.to_thread.run_sync(_answer, poll, request, asked, limiter=self._limiter)
        await response(scope, receive, send)

    def _found(self, scope: Scope) -> tuple[Poll, re.Match[str]] | None:
        matches = ((poll, poll.asked.fullmatch(scope["path"])) for poll in self._polls)
        return next(((poll, asked) for poll, asked in matches if asked is not None), None)


def _answer(poll: Poll, request: Request, asked: re.Match[str]) -> Response:
    try:
        return poll.answer(request, asked)
    except EverloopError as error:
        refused = error
    except DBAPIError as error:
        if not transient(error):
            raise
        refused = StoreUnavailable("the database does not answer", why=str(error.orig))
    request.state.code = envelope.wire_error(refused)[1]
    return envelope.refusal(refused)


def _listed(request: Request, _: re.Match[str]) -> Response:
    installation, query = place(request), request.query_params
    return routes_runs.list_runs(installation, known(request, installation), query.get("limit"), query.get("cursor"))


def _live(request: Request, asked: re.Match[str]) -> Response:
    installation, run = place(request), asked["run"]
    caller = known(request, installation)
    since = number(request.query_params.get("since"))
    mark = runs.mark(installation, run, caller)
    return fresh.answer(request, mark, lambda: runs.live(installation, run, since, caller))


_RUNS = "(?:/api)?/v1/agent-runs/rsi/runs"
POLLS = (
    Poll(re.compile(_RUNS + "/(?P<run>[a-z0-9-]{1,64})/live"), "/agent-runs/rsi/runs/{run}/live", _live),
    Poll(re.compile(_RUNS), "/agent-runs/rsi/runs", _listed),
)
"""The polls of the API."""
