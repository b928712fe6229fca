"""What stands before every route: names it answers to, sizes it takes, the id and the record of each request.

Plain ASGI, so that it also stands before what is mounted beside the routes, and so that no body is held twice.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everloop import address
from everloop.api import envelope
from everloop.api.redaction import redacted
from everloop.errors import AccessDenied, EverloopError, NotFound, TooLarge
from everloop.settings import Settings

log = logging.getLogger("everloop.api")

BODY = 1024 * 1024
"""Most bytes of a body."""
JOB_BODY = 32 * 1024 * 1024
"""Most bytes of a train job's body: its rows."""
DRAIN = 256 * 1024 * 1024
"""Bytes of a body too large that are read and thrown away, so that its sender gets to read why."""
DRAIN_SECONDS = 20.0
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names under which a server on the loopback address may be asked for."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

Note = Callable[[Scope, int, float], Awaitable[None]]
"""Told of each request once its answer's status is known: scope, status, seconds."""


class Doors:
    """Refuses what no route should see, answers what no route could, and gives every request an id."""

    def __init__(self, app: ASGIApp, *, settings: Settings, note: Note) -> None:
        self._app, self._note = app, note
        self._names = _names(settings)
        self._root = address.public_path(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, headers = time.perf_counter(), Headers(scope=scope)
        asked = headers.get("x-request-id", "")
        request_id = asked if _ID.fullmatch(asked) else secrets.token_hex(8)
        inside = _split(scope) | {"root_path": self._root}
        inside["state"] = {**inside.get("state", {}), "request_id": request_id}
        answer = _Answer(inside, send, request_id, self._note, begun)
        try:
            self._check(inside, headers)
            await self._app(inside, _Bounded(receive, _most(inside), headers), answer)
        except TooLarge as error:
            await _drain(receive)
            await answer.refuse(error, {"Connection": "close"})
        except EverloopError as error:
            await answer.refuse(error)
        except Exception:
            log.exception("request %s failed: %s %s", request_id, scope["method"], redacted(scope["path"]))
            told = EverloopError("something went wrong here", why=f"request {request_id}", then="See the server's log")
            await answer.refuse(told)

    def _check(self, scope: Scope, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if self._names is not None and (len(hosts) != 1 or _name(f"//{hosts[0]}") not in self._names):
            why = "a page of another site may have made it" if hosts else "it names no host"
            raise AccessDenied("this server is not asked for by that name", why=why, then="Set EVERLOOP_PUBLIC_URL")
        if "\0" in scope["path"] or b"%00" in scope.get("query_string", b""):
            raise NotFound("the address holds a zero byte")
        try:
            int(headers.get("content-length", "0"))
        except ValueError as error:
            raise TooLarge("the length of the body is no number") from error


class _Answer:
    """Sends an answer with the request's id, and has it noted before its first byte leaves."""

    def __init__(self, scope: Scope, send: Send, request_id: str, note: Note, begun: float) -> None:
        self._scope, self._send, self._id, self._note, self._begun = scope, send, request_id, note, begun
        self._started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not self._started:
            self._started = True
            told = MutableHeaders(scope=message)
            told["X-Request-ID"] = self._id
            told.setdefault("X-Content-Type-Options", "nosniff")
            told.setdefault("Cache-Control", "no-store")
            await self._note(self._scope, message["status"], time.perf_counter() - self._begun)
        await self._send(message)

    async def refuse(self, error: EverloopError, headers: dict[str, str] | None = None) -> None:
        """Answer with an error, unless an answer is on its way: then the connection is cut."""
        if self._started:
            raise RuntimeError("an answer broke off") from error
        self._scope["state"]["code"] = envelope.wire_error(error)[1]
        response = envelope.refusal(error, headers)
        await response(self._scope, _nothing, self)


class _Bounded:
    """A body that ends with TooLarge once it is longer than it may be."""

    def __init__(self, receive: Receive, most: int, headers: Headers) -> None:
        self._receive, self._most, self._read = receive, most, 0
        self._declared = int(headers.get("content-length", "0"))

    async def __call__(self) -> Message:
        if self._declared > self._most:
            raise self._error()
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > self._most:
            raise self._error()
        return message

    def _error(self) -> TooLarge:
        return TooLarge("the body is too long", why=f"this route takes {self._most:,} bytes")


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _drain(receive: Receive) -> None:
    """Read what is left of a body, within bounds: who is cut off while sending never reads the refusal."""
    read = 0
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while read < DRAIN:
                message = await receive()
                read += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _most(scope: Scope) -> int:
    path = scope["path"].removeprefix("/api")
    return JOB_BODY if path == "/v1/job" and scope["method"] == "POST" else BODY


def _split(scope: Scope) -> dict[str, Any]:
    """Decode the path after splitting it: an encoded slash is part of a segment, and stays encoded."""
    raw = scope.get("raw_path")
    if raw and b"%2f" in raw.lower():
        parts = (quote(unquote(part), safe="%") if "%2f" in part.lower() else unquote(part) for part in _parts(raw))
        return {**scope, "path": "/".join(parts)}
    return dict(scope)


def _parts(raw: bytes) -> list[str]:
    return raw.decode("ascii", "replace").partition("?")[0].split("/")


def _names(settings: Settings) -> frozenset[str] | None:
    """The names this server answers to; None: any, where it listens for a network and nobody said by what name."""
    public = {_name(settings.public_url)} if settings.public_url else set()
    if settings.host in LOOPBACK:
        return LOOPBACK | public
    return frozenset({*LOOPBACK, settings.host, *public}) if public else None


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
