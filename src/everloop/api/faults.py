"""Errors on their way out: what a route raised, what the framework refused, as the one envelope."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from everloop.api import envelope
from everloop.errors import (
    EverloopError,
    InvalidCursor,
    InvalidLimit,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    StoreUnavailable,
    TooLarge,
)
from everloop.store.database import transient

_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
_OF_FIELD: Mapping[str, type[InvalidRequest]] = {"limit": InvalidLimit, "cursor": InvalidCursor}

Shown = Callable[[Request, EverloopError], Awaitable[Response | None]]
"""The page that tells whoever asks for pages that there is nothing at an address; None for anybody else."""


def install(app: FastAPI, shown: Shown | None = None) -> None:
    """Have every error of the application answered by its envelope; what is not foreseen goes on to the doors.

    `shown`: the page in the place of the envelope where no route is found.
    """
    app.state.shown = shown
    app.add_exception_handler(EverloopError, _everloop)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(DBAPIError, _database)


async def _everloop(request: Request, error: Exception) -> Response:
    assert isinstance(error, EverloopError)
    if isinstance(error, TooLarge):
        raise error  # the doors read the rest of the body first
    return _told(request, error)


async def _invalid(request: Request, error: Exception) -> Response:
    """A parameter that is not what the route takes; named, with what was expected, without what was sent."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = str(first["loc"][-1])
    kind = _OF_FIELD.get(name, InvalidRequest)
    return _told(request, kind(f"{name} cannot be accepted", why=str(first["msg"])))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        missing = NotFound("there is nothing at this address", then="See /openapi.json")
        return await _shown(request, missing) or _told(request, missing)
    if error.status_code == 405:
        refused = MethodNotAllowed(f"this address does not take {request.method}")
        taken = {"Allow": ", ".join(_taken(request))}
        page = await _shown(request, refused)
        if page is None:
            return _told(request, refused, taken)
        page.headers.update(taken)
        return page
    code = "INVALID_RSI_REQUEST" if error.status_code < 500 else "INTERNAL_SERVER_ERROR"
    request.state.code = code
    return JSONResponse(envelope.document(code, str(error.detail)), error.status_code, error.headers)


async def _shown(request: Request, error: EverloopError) -> Response | None:
    shown: Shown | None = request.app.state.shown
    return None if shown is None else await shown(request, error)


def _taken(request: Request) -> list[str]:
    """The methods that the address takes, whichever routes share it; the framework names those of the first only.

    Of an address in the document its own methods only: ``/job/checkpoints/download`` is no checkpoint of that name.
    """
    path = getattr(request.scope.get("route"), "path", "")
    described = request.app.openapi()["paths"].get(f"/v1{path}")
    if described is not None:
        return sorted(method.upper() for method in described)
    inside = dict(request.scope)
    routes = request.app.router.routes
    tried = ((method, inside | {"method": method}) for method in _METHODS)
    return [method for method, scope in tried if any(one.matches(scope)[0] is Match.FULL for one in routes)]


async def _database(request: Request, error: Exception) -> Response:
    assert isinstance(error, DBAPIError)
    if not transient(error):
        raise error
    return _told(request, StoreUnavailable("the database does not answer", why=str(error.orig)))


def _told(request: Request, error: EverloopError, headers: Mapping[str, str] | None = None) -> Response:
    request.state.code = envelope.wire_error(error)[1]
    return envelope.refusal(error, headers)
