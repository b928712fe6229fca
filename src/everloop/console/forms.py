"""Forms: read within bounds, and taken only from a page of our own."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from everloop.api.signed import own_origin
from everloop.console import cookies
from everloop.errors import AccessDenied, InvalidRequest

BYTES = 16 * 1024
"""Most bytes of a form."""
FIELDS = 16
"""Most fields of a form."""
TOKEN = "form_token"  # noqa: S105 - the name of a field
"""Field that proves that the form is of our own page."""


async def read(request: Request) -> dict[str, str]:
    """The fields of the form that was sent. InvalidRequest for anything else."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise InvalidRequest("this is no form", then="Use the page")
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > BYTES:
            raise InvalidRequest("the form is too long", why=f"it takes {BYTES:,} bytes")
    try:
        found = dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=FIELDS, errors="strict"))
    except ValueError as error:
        raise InvalidRequest("the form cannot be read", then="Use the page") from error
    if any("\0" in text for text in (*found, *found.values())):
        raise InvalidRequest("the form holds a zero byte")
    return found


def new_secret() -> str:
    """A new value of the cookie `cookies.FORM`."""
    return secrets.token_urlsafe(32)


def token(secret: str, session: str) -> str:
    """What a form must carry: of this browser, and of this session where there is one."""
    return hmac.new(secret.encode(), session.encode(), hashlib.sha256).hexdigest()


def masked(token: str) -> str:
    """The token as one page carries it: other bytes each time.

    Pages are compressed; of text that stays the same, their length would tell a little with each page.
    """
    raw = bytes.fromhex(token)
    mask = secrets.token_bytes(len(raw))
    return (mask + _xor(mask, raw)).hex()


def unmasked(carried: str) -> str:
    """The token that a page carried; empty for anything else."""
    try:
        raw = bytes.fromhex(carried)
    except ValueError:
        return ""
    half = len(raw) // 2
    return _xor(raw[:half], raw[half:]).hex() if len(raw) == 2 * half else ""


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(one, other, strict=True))


def check(request: Request, form: Mapping[str, str]) -> None:
    """AccessDenied for a form that another site's page sent, or that is of another session."""
    secret, session = cookies.form(request), cookies.session(request)
    good = hmac.compare_digest(token(secret, session).encode(), unmasked(form.get(TOKEN, "")).encode())
    if "origin" in request.headers and not own_origin(request):
        then = "Open the page here and try again; behind a proxy, set EVERLOOP_PUBLIC_URL"
        raise AccessDenied("this form comes from another site", then=then)
    if not secret or not good:
        raise AccessDenied("this page is out of date", why="you signed in or out since", then="Open it again")
