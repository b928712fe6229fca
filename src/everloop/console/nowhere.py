"""What a browser is shown at an address at which there is nothing."""

from __future__ import annotations

import re

from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from everloop.api.faults import Shown
from everloop.api.rates import Rates
from everloop.console import pages
from everloop.console.addresses import asked_path
from everloop.console.visits import Visit, caller_of, in_project
from everloop.errors import EverloopError, NotFound, RateLimited, StoreUnavailable
from everloop.service.installation import Installation

_API = re.compile(r"/(?:api/)?v1(?:/|$)")
_BELOW_PROJECT = re.compile(r"/(?P<workspace>[A-Za-z0-9_-]{1,128})/(?P<project>[A-Za-z0-9_:-]{1,128})(?:/|$)")


def nowhere(place: Installation) -> Shown:
    """Answers those who would rather read a page than JSON, unless they ask the API."""

    async def answer(request: Request, error: EverloopError) -> Response | None:
        if _API.match(asked_path(request)) or not prefers_page(request.headers.get("accept", "")):
            return None
        return await run_in_threadpool(_told, place, request, error)

    return answer


def prefers_page(accept: str) -> bool:
    """Whether an ``Accept`` header names HTML, and gives JSON no more weight; ``*/*`` alone names nothing."""
    weights: dict[str, float] = {}
    for one in accept[:1024].split(","):
        kind, _, parameters = one.strip().lower().partition(";")
        weight = re.search(r"(?:^|;)\s*q\s*=([^;]*)", parameters)
        weights[kind.strip()] = _number(weight[1]) if weight else 1.0
    page = max(weights.get("text/html", 0.0), weights.get("application/xhtml+xml", 0.0))
    return page > 0 and page >= weights.get("application/json", 0.0)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _told(place: Installation, request: Request, error: EverloopError) -> Response:
    """The page, in the frame of the project that the address names if the reader may see it.

    A project of others and none at all look the same, and so does each where nobody is signed in.
    """
    found, told = _BELOW_PROJECT.match(asked_path(request)), type(error)(error.what)
    try:
        caller = caller_of(place, request)
        if caller is not None and found is not None:
            rates: Rates = request.app.state.rates
            rates.count(caller.subject)
            request.scope["path_params"] = found.groupdict()
            framed = in_project(lambda visit: pages.told(request, told, visit))
            return framed(Visit(request, place, {}, caller))
    except RateLimited as refused:
        return pages.told(request, refused)
    except (NotFound, StoreUnavailable, DBAPIError):
        pass  # no project of the reader's; and what there is not, there is not without the database either
    return pages.told(request, told)
