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
from everloop.api.mcp_names import LOOPBACK as LOOPBACK
from everloop.api.mcp_names import own_names
from everloop.api.redaction import redacted
from everloop.errors import AccessDenied, EverloopError, NotFound, RateLimited, TooLarge
from everloop.settings import Settings

log = logging.getLogger("everloop.api")

BODY = 1024 * 1024
"""Most bytes of a body."""
JOB_BODY = 32 * 1024 * 1024
"""Most bytes of a train job's body: its rows."""
DRAIN = 256 * 1024 * 1024
"""Bytes of a body too large that are read and thrown away, so that its sender gets to read why."""
DRAIN_SECONDS = 20.0
STRANGERS_BODY = 64 * 1024
"""Most bytes of a body that comes without a key."""
LARGE = 4
"""Bodies of more than `BODY` bytes that are held at once; the next ones wait."""
LARGE_WAIT_SECONDS, LARGE_SECONDS = 20.0, 300.0
"""How long such a body waits for its turn, and how long it may take to arrive."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

Note = Callable[[Scope, int, float], Awaitable[None]]
"""Told of each request once its answer's status is known: scope, status, seconds."""


class Doors:
    """Refuses what no route should see, answers what no route could, and gives every request an id."""

    def __init__(self, app: ASGIApp, *, settings: Settings, note: Note) -> None:
        self._app, self._note = app, note
        self._names = own_names(settings)
        self._large = asyncio.Semaphore(LARGE)
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
            async with _Bounded(receive, _most(inside), headers, self._large) as body:
                await self._app(inside, body, answer)
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
    """A body that ends with TooLarge once it is longer than it may be; a large one is read when it has its turn."""

    def __init__(self, receive: Receive, most: int, headers: Headers, large: asyncio.Semaphore) -> None:
        self._receive, self._most, self._read, self._large = receive, most, 0, large
        self._declared = int(headers.get("content-length", "0"))
        self._until: float | None = None
        self._ended = False

    async def __aenter__(self) -> _Bounded:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._until is not None:
            self._large.release()

    async def __call__(self) -> Message:
        if self._declared > self._most:
            raise self._error()
        if self._until is None and max(self._declared, self._read) > BODY:
            await self._turn()
        message = await self._arriving()
        self._read += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._read > self._most:
            raise self._error()
        return message

    async def _turn(self) -> None:
        try:
            async with asyncio.timeout(LARGE_WAIT_SECONDS):
                await self._large.acquire()
        except TimeoutError as error:
            why = f"at most {LARGE} of more than {BODY:,} bytes at once"
            raise RateLimited("too many large bodies arrive", why=why, then="Try again in a moment") from error
        self._until = asyncio.get_running_loop().time() + LARGE_SECONDS

    async def _arriving(self) -> Message:
        if self._until is None or self._ended:
            return await self._receive()  # what comes after the body may take as long as it likes
        try:
            async with asyncio.timeout_at(self._until):
                return await self._receive()
        except TimeoutError as error:
            why = f"it takes more than {LARGE_SECONDS:.0f} seconds"
            raise RateLimited("the body arrives too slowly", why=why, then="Send less in one request") from error

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
    if path.startswith("/v1/auth/cli/"):
        return STRANGERS_BODY
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


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
