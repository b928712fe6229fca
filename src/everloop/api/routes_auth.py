"""Routes of a command line that wants to be let in: ``/auth/cli/...``; no key is needed, a person decides.

The page where a person does is the console's, at ``/sign-in?cli_login=GRANT``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse

from everloop.api import bodies
from everloop.api.described import Responses, body, refusals
from everloop.api.place import Place
from everloop.api.rates import Rates, network
from everloop.api.shapes import COUNT, SHA256, TEXT, one_of, record, told
from everloop.api.signed import address_of
from everloop.errors import InvalidRequest, NotFound, TooLarge
from everloop.events import Json, JsonValue
from everloop.service import grants
from everloop.service.installation import Installation

router = APIRouter(prefix="/auth/cli", tags=["signing in"])


async def _body(request: Request) -> JsonValue:
    """The body of an address that had not too much refused; not a byte of it is read before."""
    rates: Rates = request.app.state.rates
    address = address_of(request)
    rates.check(address)
    try:
        return await bodies.read(request)
    except (InvalidRequest, TooLarge):
        rates.refused(address)
        raise


StrangersBody = Annotated[JsonValue, Depends(_body)]
"""Parameter type: the parsed body of somebody without a key."""

_UUID: Json = {"type": "string", "format": "uuid"}
START: Json = record(
    {
        "key_hash": told(SHA256, "SHA-256 of the key that the client made: epk_ and 64 hex digits."),
        "poll_hash": told(SHA256, "SHA-256 of the token that it will poll with."),
        "code_hash": told(SHA256, "SHA-256 of the confirmation code that it shows."),
    }
)
"""Body of a start."""
ASK: Json = record(
    {
        "grant_id": told(_UUID, "From the answer to the start."),
        "poll_token": {"type": "string", "minLength": 1, "maxLength": 512, "description": "The token itself."},
    }
)
"""Body of a poll and of a cancel."""
_STARTED: Json = record(
    {
        "grant_id": _UUID,
        "verification_uri": told(TEXT, "Page where a person signs in and enters the code."),
        "interval": told(COUNT, "Seconds between two polls."),
        "expires_in": told(COUNT, "Seconds a person has to decide."),
    }
)
_SCOPE: dict[str, Json] = {"workspace_id": told(TEXT, "With approved."), "project_id": told(TEXT, "With approved.")}
_STATUS: Json = record(
    {"status": one_of("pending", "approved", "denied", "cancelled"), **_SCOPE}, optional=tuple(_SCOPE)
)


def _answers(schema: Json, *statuses: int) -> Responses:
    good: Responses = {200: {"description": "OK", "content": {"application/json": {"schema": schema}}}}
    return good | refusals(*statuses, always=(429, 503))


_EXPIRED: Responses = {
    410: {
        "description": "AUTH_LOGIN_EXPIRED",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
}


@router.post("/start", responses=_answers(_STARTED, 413, 422), openapi_extra=body(START))
def start_sign_in(request: Request, place: Place, document: StrangersBody) -> JSONResponse:
    """Ask to be let in: the key stays with the client, a person enters its code on the page named here."""
    rates: Rates = request.app.state.rates
    rates.refused(address_of(request))  # whoever has no key yet is a stranger, and each start takes room in the store
    return JSONResponse(grants.start(place, document, page_origin(request), network(address_of(request))))


@router.post("/poll", responses=_answers(_STATUS, 404, 413, 422) | _EXPIRED, openapi_extra=body(ASK))
def poll_sign_in(request: Request, place: Place, document: StrangersBody) -> JSONResponse:
    """What became of it; with `approved`, the key works and the workspace and project are named."""
    return _asked(request, place, document, grants.poll)


@router.post("/cancel", responses=_answers(_STATUS, 404, 413, 422), openapi_extra=body(ASK))
def cancel_sign_in(request: Request, place: Place, document: StrangersBody) -> JSONResponse:
    """Give up; a key that was let in already is revoked."""
    return _asked(request, place, document, grants.cancel)


def page_origin(request: Request) -> str:
    """The address of the pages as whoever asks reaches them, without a slash at its end.

    That is the public one where it was asked for by that name: clients refuse a page of another origin than the API's.
    """
    public = request.app.state.installation.settings.public_url.rstrip("/")
    host = request.headers.get("host", "")
    if public and urlsplit(public).netloc.lower() == host.lower():
        return str(public)
    return f"{request.url.scheme}://{host}{request.scope.get('root_path', '')}"


def _asked(
    request: Request, place: Installation, document: JsonValue, ask: Callable[[Installation, JsonValue], Json]
) -> JSONResponse:
    rates: Rates = request.app.state.rates
    try:
        return JSONResponse(ask(place, document))
    except (NotFound, InvalidRequest):
        rates.refused(address_of(request))  # guesses, like those at keys
        raise
