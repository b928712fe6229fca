"""The MCP endpoint: Streamable HTTP, stateless, JSON answers, a bearer key on every request.

What is HTTP is refused before MCP sees it, with the envelope of every other route; what is a tool's is refused in its
result, as ``{"code", "message"}`` with ``isError``, so that a model can read it and do better.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    ToolAnnotations,
)
from mcp_types import Tool as WireTool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everloop import __version__
from everloop.api.bodies import parsed_aside
from everloop.api.envelope import document, refusal, wire_error
from everloop.api.mcp_calls import Call
from everloop.api.mcp_names import ANY
from everloop.api.mcp_tools import BY_NAME, TOOLS, Tool
from everloop.api.rates import Rates
from everloop.errors import EverloopError, InvalidRequest, MethodNotAllowed, NotFound, TooLarge, Unauthorized
from everloop.events import Json
from everloop.service import access
from everloop.service.caller import Caller
from everloop.service.installation import Installation

PATH = "/v1/agent-runs/rsi/mcp"
"""Where clients connect."""
PATHS = (PATH, f"/api{PATH}")
"""Every path it is served at."""
BODY = 1 << 20
"""Most bytes of a request."""
NAME = "everloop"
"""Name the server gives itself."""
INSTRUCTIONS = (
    "Improvement loops of one project. Look before you act: rsi_list_runs, then rsi_status with since to follow a run. "
    "rsi_start_run, and rsi_control with extend or resume, begin paid work within the caps you set. A label or a "
    "finished job proves no improvement: gates and certified versions in rsi_run_status do."
)
"""What a client may show its model about the server."""

Signed = Callable[[str], Caller]
"""Who a bearer key is; Unauthorized when nobody."""

_CALLER = "everloop.caller"


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
    manager = StreamableHTTPSessionManager(
        _server(installation), json_response=True, stateless=True, max_request_body_size=BODY
    )
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=ANY not in hosts, allowed_hosts=[*hosts], allowed_origins=[*origins]
    )
    door = _Door(manager, TransportSecurityMiddleware(security), signed, rates)

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with manager.run():
            yield

    return Mounted(door, running)


class _Door:
    """What stands before MCP: method, host, origin, key, size and well-formed JSON."""

    def __init__(
        self,
        manager: StreamableHTTPSessionManager,
        security: TransportSecurityMiddleware,
        signed: Signed,
        rates: Rates | None,
    ) -> None:
        self._manager, self._security, self._signed, self._rates = manager, security, signed, rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"no {scope['type']} is served here")
        request = Request(scope, receive)
        try:
            answer = await self._refused(request)
            if answer is None:
                scope[_CALLER] = request.state.caller = await self._caller(request)
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
            await self._manager.handle_request(scope, _again(raw, receive), send)
        else:
            await answer(scope, receive, send)

    async def _refused(self, request: Request) -> Response | None:
        if request.method != "POST":
            raise MethodNotAllowed(f"{request.method} is not served here", then="POST JSON-RPC messages")
        found = await self._security.validate_request(request, is_post=True)
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
                self._rates.check(_address(request))
                self._rates.refused(_address(request))
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


def _server(installation: Installation) -> Server[dict[str, Any]]:
    listed = ListToolsResult(tools=[_wire(tool) for tool in TOOLS])

    async def list_tools(
        context: ServerRequestContext[dict[str, Any], Request], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        del context, params
        return listed

    async def call_tool(
        context: ServerRequestContext[dict[str, Any], Request], params: CallToolRequestParams
    ) -> CallToolResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            error = NotFound(f"tool {params.name:.80} is not known", then=f"Known: {', '.join(BY_NAME)}")
            raise MCPError(INVALID_PARAMS, error.message, document(error.code, error.message))
        assert context.request is not None
        call = _call(tool, cast(Json, params.arguments or {}), context.request)
        return await to_thread.run_sync(call.answer, installation)

    return Server(
        NAME,
        version=__version__,
        title="Everloop",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: BY_NAME[name].schema if name in BY_NAME else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _call(tool: Tool, arguments: Json, request: Request) -> Call:
    asked = request.scope.get("state", {}).get("request_id")
    return Call(tool, arguments, cast(Caller, request.scope[_CALLER]), asked, _address(request))


def _address(request: Request) -> str:
    """The address the request comes from; that of a trusted proxy's client where there is one."""
    return request.client.host if request.client else "unknown"


def _wire(tool: Tool) -> WireTool:
    hints = ToolAnnotations(
        read_only_hint=tool.reads,
        destructive_hint=tool.destructive,
        idempotent_hint=tool.reads,
        open_world_hint=False,
    )
    schema = cast(dict[str, Any], tool.schema)
    return WireTool(
        name=tool.name, title=tool.title, description=tool.description, input_schema=schema, annotations=hints
    )
