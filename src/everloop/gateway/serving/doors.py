"""What stands before the served gateway: who may knock, how many at once, how much they may bring."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everloop.gateway.serving.refusals import Refusal, log, unavailable

BODY_BYTES = 1024 * 1024
"""Most bytes of a request's body."""
BODY_SECONDS = 30.0
"""Seconds in which a body must have arrived."""
READ_SECONDS = 30.0
"""Seconds a reader may leave a piece of an answer unread."""
DRAIN_BYTES = 8 * BODY_BYTES
"""Bytes read of a body that is too large, so that its sender gets to read why; then the connection is cut."""
REQUESTS = 64
"""Requests under way at once; further ones are told to come back."""
LOOPBACK = frozenset({"127.0.0.1", "localhost"})
"""Names under which the port may be asked for."""


class Doors:
    """Refuses requests that a web page made, or that come in too great a number.

    A page of any origin can make a browser send requests to a loopback port. They carry an ``Origin`` of their own or,
    where a name was bound to the loopback address, a foreign ``Host``.
    """

    def __init__(self, app: ASGIApp, *, port: bool) -> None:
        self._app, self._port = app, port
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(Headers(scope=scope))
        if refused is not None:
            await refused.response()(scope, receive, send)
            return
        self._under_way += 1
        try:
            await self._app(scope, receive, _patient(send))
        except TimeoutError:
            log.warning("an answer was given up: nobody read it for %g seconds", READ_SECONDS)
        finally:
            self._under_way -= 1

    def _refused(self, headers: Headers) -> Refusal | None:
        hosts = headers.getlist("host")
        if self._port and (len(hosts) != 1 or _name(f"http://{hosts[0]}") not in LOOPBACK):
            return Refusal(403, "invalid_request_error", "host_refused", "this host name is not served here")
        if any(_name(origin) not in LOOPBACK for origin in headers.getlist("origin")):
            return Refusal(403, "invalid_request_error", "origin_refused", "requests of web pages are not answered")
        if self._under_way >= REQUESTS:
            return unavailable("too many requests are under way", "overloaded")
        return None


def _patient(send: Send) -> Send:
    """Who does not read an answer must not keep one of the places for ever."""

    async def sent(message: Message) -> None:
        async with asyncio.timeout(READ_SECONDS):
            await send(message)

    return sent


def _name(url: str) -> str:
    """The host name of a URL; empty when there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


async def body(request: Request) -> bytes:
    """The body of a request. Refusal when it is too large, whatever its headers say, or too slow."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read(request)
    except TimeoutError as error:
        raise Refusal(408, "invalid_request_error", "body_too_slow", "the body did not arrive in time") from error


async def _read(request: Request) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size <= BODY_BYTES:
            pieces.append(piece)
        elif size > DRAIN_BYTES:
            break
        else:
            pieces.clear()
    if size > BODY_BYTES:
        raise Refusal(413, "invalid_request_error", "body_too_large", f"a body may have {BODY_BYTES} bytes")
    return b"".join(pieces)
