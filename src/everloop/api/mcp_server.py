"""The MCP endpoint: Streamable HTTP, stateless, JSON answers, a bearer key on every request.

What is HTTP is refused before MCP sees it, with the envelope of every other route; what is a tool's is refused in its
result, as ``{"code", "message"}`` with ``isError``, so that a model can read it and do better.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyio import TASK_STATUS_IGNORED, CancelScope, Lock, create_task_group, sleep_forever, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everloop.api.bodies import parsed_aside
from everloop.api.envelope import document, refusal, wire_error
from everloop.api.rates import Rates
from everloop.errors import EverloopError, InvalidRequest, MethodNotAllowed, TooLarge, Unauthorized
from everloop.service import access
from everloop.service.caller import Caller
from everloop.service.installation import Installation

if TYPE_CHECKING:
    from anyio.abc import TaskGroup, TaskStatus
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from everloop.api.mcp_protocol import Protocol

PATH = "/v1/agent-runs/rsi/mcp"
"""Where clients connect."""
PATHS = (PATH, f"/api{PATH}")
"""Every path it is served at."""
BODY = 1 << 20
"""Most bytes of a request."""
PARSE_ERROR = -32700
"""JSON-RPC's code of a body that is no JSON."""
CALLER = "everloop.caller"
"""Where a request's scope says who asks."""

Signed = Callable[[str], Caller]
"""Who a bearer key is; Unauthorized when nobody."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """An endpoint to mount, and the context in which it works."""

    app: ASGIApp
    """Serves `PATHS`; mount it at each of them, for every method."""
    running: Callable[[], Any]
    """Async context manager to enter for the life of the application; once."""


def mcp_app(
    installation: Installation,
    signed: Signed,
    *,
    hosts: Sequence[str],
    origins: Sequence[str],
    rates: Rates | None = None,
) -> Mounted:
    """The endpoint of an installation.

    `hosts` and `origins` are what the ``Host`` and ``Origin`` headers may say; ``name:*`` stands for any port, the host
    ``*`` for anything. `rates` counts its requests together with those of other routes.
    """
    door = _Door(_Later(installation, hosts, origins), signed, rates)
    return Mounted(door, door.later.running)


class _Later:
    """The protocol behind the door, made by the first request that needs it."""

    def __init__(self, installation: Installation, hosts: Sequence[str], origins: Sequence[str]) -> None:
        self._installation, self._names = installation, (hosts, origins)
        self._made: Protocol | None = None
        self._making, self._starting = threading.Lock(), Lock()
        self._tasks: TaskGroup | None = None
        self._runs = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The context in which requests can be handled."""
        async with create_task_group() as self._tasks:
            try:
                yield
            finally:
                self._tasks.cancel_scope.cancel()

    async def protocol(self) -> Protocol:
        """The protocol, which cannot handle requests yet."""
        made = self._made
        return await to_thread.run_sync(self._make) if made is None else made

    async def started(self) -> StreamableHTTPSessionManager:
        """What handles requests."""
        manager = (await self.protocol()).manager
        async with self._starting:
            if not self._runs:
                assert self._tasks is not None
                with CancelScope(shield=True):  # it starts once only, even when who asked has gone meanwhile
                    await self._tasks.start(_run, manager)
                self._runs = True
        return manager

    def _make(self) -> Protocol:
        from everloop.api.mcp_protocol import Protocol

        with self._making:
            if self._made is None:
                self._made = Protocol(self._installation, *self._names)
            return self._made


async def _run(manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
    async with manager.run():
        task_status.started()
        await sleep_forever()


class _Door:
    """What stands before MCP: method, host, origin, key, size and well-formed JSON."""

    def __init__(self, later: _Later, signed: Signed, rates: Rates | None) -> None:
        self.later, self._signed, self._rates = later, signed, rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"no {scope['type']} is served here")
        request = Request(scope, receive)
        try:
            answer = await self._refused(request)
            if answer is None:
                scope[CALLER] = request.state.caller = await self._caller(request)
                raw = await _body(request)
        except TooLarge:
            raise  # what stands before every route reads the rest of the body first
        except EverloopError as error:
            answer = _told(request, error)
        except ClientDisconnect:
            return
        if answer is None:
            answer = await _not_json(raw)
        if answer is None:
            manager = await self.later.started()
            await manager.handle_request(scope, _again(raw, receive), send)
        else:
            await answer(scope, receive, send)

    async def _refused(self, request: Request) -> Response | None:
        if request.method != "POST":
            raise MethodNotAllowed(f"{request.method} is not served here", then="POST JSON-RPC messages")
        security = (await self.later.protocol()).security
        found = await security.validate_request(request, is_post=True)
        if found is None:
            return None
        what = bytes(found.body).decode()
        then = "Send application/json" if found.status_code == 400 else "Use the server's own address"
        code = "INVALID_RSI_REQUEST" if found.status_code == 400 else "ACCESS_DENIED"
        request.state.code = code
        return JSONResponse(document(code, f"{what}. {then}"), found.status_code)

    async def _caller(self, request: Request) -> Caller:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        try:
            if scheme.lower() != "bearer" or not key.strip():
                raise Unauthorized("a key is needed", then="Send Authorization: Bearer KEY; see docs/keys-and-roles.md")
            caller = await to_thread.run_sync(self._signed, key.strip())
        except Unauthorized:
            if self._rates is not None:  # only now, as for every other route: a good key is always let in
                self._rates.check(address(request))
                self._rates.refused(address(request))
            raise
        if self._rates is not None:
            self._rates.count(caller.subject)
        access.check_scope(caller, request.headers.get("x-workspace-id"), request.headers.get("x-project-id"))
        return caller


def _told(request: Request, error: EverloopError) -> Response:
    request.state.code = wire_error(error)[1]
    return refusal(error, {"Allow": "POST"} if isinstance(error, MethodNotAllowed) else None)


async def _body(request: Request) -> bytes:
    """The whole body. TooLarge beyond a mebibyte, without reading on."""
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > BODY:
            raise TooLarge("the body is too large", why=f"at most {BODY} bytes", then="Send less in one request")
    return bytes(raw)


async def _not_json(raw: bytes) -> Response | None:
    """JSON-RPC's own answer to a body that is not acceptable JSON."""
    try:
        await parsed_aside(raw)
    except InvalidRequest as error:
        told = {"code": PARSE_ERROR, "message": error.message, "data": document(error.code, error.message)}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, 400)
    return None


def _again(raw: bytes, receive: Receive) -> Receive:
    """A body that was read, to be read once more."""
    left: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


def address(request: Request) -> str:
    """The address the request comes from; that of a trusted proxy's client where there is one."""
    return request.client.host if request.client else "unknown"
