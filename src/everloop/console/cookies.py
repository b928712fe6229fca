"""The console's cookies: of the session, of a form, of the way to the identity provider and back."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from everloop.api.cookie_names import SESSION, cookie_name, is_secure
from everloop.language import Language, chosen

FORM = "everloop_form"
"""Random text that a form's token is made with."""
LANGUAGE = "everloop_language"
"""Tag of the language that the reader switched to."""
JOURNEY = "everloop_journey"
"""What `SingleSignOn.begin` has the browser keep."""


def session(request: Request) -> str:
    """The session's token that the browser keeps; empty without one."""
    return request.cookies.get(cookie_name(request, SESSION), "")


def form(request: Request) -> str:
    """The text of this browser's forms; empty without one."""
    return request.cookies.get(cookie_name(request, FORM), "")


def journey(request: Request) -> str:
    """The way to the identity provider that was begun in this browser; empty without one."""
    return request.cookies.get(cookie_name(request, JOURNEY), "")


def language(request: Request) -> Language:
    """The language of whoever asks: what this browser was switched to, else what it asks for."""
    kept = request.cookies.get(cookie_name(request, LANGUAGE))
    return chosen(kept, request.headers.get("accept-language", ""))


def put(request: Request, response: Response, base: str, value: str, seconds: float | None = None) -> None:
    """Have the browser keep a cookie that no script reads; `seconds` None: until it is closed."""
    response.set_cookie(
        cookie_name(request, base),
        value,
        max_age=None if seconds is None else int(seconds),
        path="/",
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )


def drop(request: Request, response: Response, base: str) -> None:
    """Have the browser forget a cookie."""
    name = cookie_name(request, base)
    response.delete_cookie(name, path="/", secure=is_secure(request), httponly=True, samesite="lax")


__all__ = ["FORM", "JOURNEY", "LANGUAGE", "SESSION", "drop", "form", "journey", "language", "put", "session"]
