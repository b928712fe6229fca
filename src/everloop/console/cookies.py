"""The console's cookies: of the session, of a form, of the way to the identity provider and back."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from everloop.api.signed import COOKIE as SESSION

FORM = "everloop_form"
"""Random text that a form's token is made with."""
JOURNEY = "everloop_journey"
"""What `SingleSignOn.begin` has the browser keep."""


def put(request: Request, response: Response, name: str, value: str, seconds: float | None = None) -> None:
    """Have the browser keep a cookie that no script reads; `seconds` None: until it is closed."""
    response.set_cookie(
        name,
        value,
        max_age=None if seconds is None else int(seconds),
        path="/",
        secure=_secure(request),
        httponly=True,
        samesite="lax",
    )


def drop(request: Request, response: Response, name: str) -> None:
    """Have the browser forget a cookie."""
    response.delete_cookie(name, path="/", secure=_secure(request), httponly=True, samesite="lax")


def _secure(request: Request) -> bool:
    """Whether people reach this server by https, also where a proxy speaks it for us."""
    public = request.app.state.installation.settings.public_url
    return request.url.scheme == "https" or (
        str(public).startswith("https://") and request.url.hostname not in {"localhost", "127.0.0.1", "::1"}
    )


__all__ = ["FORM", "JOURNEY", "SESSION", "drop", "put"]
