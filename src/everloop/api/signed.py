"""Who makes a request: a key in the header, or the cookie of a person who signed in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from everloop.api.cookie_names import SESSION, cookie_name
from everloop.api.place import Place
from everloop.api.rates import Rates
from everloop.errors import AccessDenied, Unauthorized
from everloop.service import access
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Permission

READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""

_BEARER = HTTPBearer(auto_error=False, scheme_name="key", description="A key of a project: `el key create`.")


class _SessionCookie(APIKeyCookie):
    """The session's cookie, whose whole name depends on how the server is reached."""

    async def __call__(self, request: HTTPConnection) -> str | None:
        return request.cookies.get(cookie_name(request, self.model.name))


_SESSION = _SessionCookie(
    name=SESSION,
    auto_error=False,
    scheme_name="session",
    description="A person's session. The name begins with `__Host-` over https and ends with an unusual port: `_8711`.",
)


def signed(
    request: Request,
    place: Place,
    key: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
    session: Annotated[str | None, Security(_SESSION)],
) -> Caller:
    """The caller. Unauthorized without a key or session in force; RateLimited; ProjectAccessDenied in another scope."""
    return known(request, place, key, session)


def known(
    request: Request,
    place: Installation,
    key: HTTPAuthorizationCredentials | None = None,
    session: str | None = None,
) -> Caller:
    """As `signed`, for a route that asks only some of its callers; what is not given is read from the request."""
    rates: Rates = request.app.state.rates
    try:
        caller = _authenticated(
            request, place, key or _key(request), session or request.cookies.get(cookie_name(request, SESSION))
        )
    except Unauthorized:
        # only now: a good key is let in whatever its neighbours behind the same address send, and none can be guessed
        address = address_of(request)
        rates.check(address)
        rates.refused(address)
        raise
    request.state.caller = caller
    rates.count(caller.subject)
    access.check_scope(caller, request.headers.get("x-workspace-id"), request.headers.get("x-project-id"))
    return caller


def address_of(request: Request) -> str:
    """The address the request comes from; that of a trusted proxy's client where there is one."""
    return request.client.host if request.client else "unknown"


def _key(request: Request) -> HTTPAuthorizationCredentials | None:
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    return HTTPAuthorizationCredentials(scheme=scheme, credentials=value) if scheme.lower() == "bearer" else None


def _authenticated(
    request: Request, place: Installation, key: HTTPAuthorizationCredentials | None, session: str | None
) -> Caller:
    if key is not None:
        return access.authenticate(place, key.credentials)
    if "authorization" in request.headers:
        raise Unauthorized("the Authorization header is not understood", then="Send Authorization: Bearer KEY")
    if not session:
        raise Unauthorized("a key is needed", then="Send Authorization: Bearer KEY; see docs/keys-and-roles.md")
    caller = access.authenticate_session(place, session)
    if request.method not in READING and not own_origin(request):
        why = "a signed-in browser changes things from this server's own pages only"
        raise AccessDenied("this request comes from another site", why=why, then="Use a key")
    return caller


def own_origin(request: Request) -> bool:
    """Whether a browser says that the request comes from a page of this very server."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "same-origin"
    public = request.app.state.installation.settings.public_url
    own = {f"{request.url.scheme}://{request.headers.get('host', '')}"}
    if public:
        parts = urlsplit(public)
        own.add(f"{parts.scheme}://{parts.netloc}")
    return origin in own


Signed = Annotated[Caller, Depends(signed)]
"""Parameter type: the authenticated caller."""


def needing(*permissions: Permission) -> Callable[[Caller], Awaitable[Caller]]:
    """A dependency that gives the caller if it has these permissions. AccessDenied names the first it lacks."""

    async def allowed(caller: Signed) -> Caller:
        for one in permissions:
            caller.require(one)
        return caller

    return allowed
