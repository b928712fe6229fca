"""What the MCP library does behind the endpoint: tools listed and called, hosts and origins looked at.

Its wire types alone take most of a second to import, and most servers are never asked by a model: this module is
imported by the first request that needs it, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    ToolAnnotations,
)
from mcp_types import Tool as WireTool
from starlette.requests import Request

from everloop import __version__
from everloop.api.envelope import document
from everloop.api.mcp_calls import Call
from everloop.api.mcp_names import ANY
from everloop.api.mcp_server import BODY, CALLER, address
from everloop.api.mcp_tools import BY_NAME, TOOLS, Tool
from everloop.errors import NotFound
from everloop.events import Json
from everloop.service.caller import Caller
from everloop.service.installation import Installation

NAME = "everloop"
"""Name the server gives itself."""
INSTRUCTIONS = (
    "Improvement loops of one project. Look before you act: rsi_list_runs, then rsi_status with since to follow a run. "
    "rsi_start_run, and rsi_control with extend or resume, begin paid work within the caps you set. A label or a "
    "finished job proves no improvement: gates and certified versions in rsi_run_status do."
)
"""What a client may show its model about the server."""


class Protocol:
    """The library's server of one installation."""

    def __init__(self, installation: Installation, hosts: Sequence[str], origins: Sequence[str]) -> None:
        self.manager = StreamableHTTPSessionManager(
            _server(installation), json_response=True, stateless=True, max_request_body_size=BODY
        )
        """Answers what has passed the door, once it runs."""
        self.security = TransportSecurityMiddleware(
            TransportSecuritySettings(
                enable_dns_rebinding_protection=ANY not in hosts, allowed_hosts=[*hosts], allowed_origins=[*origins]
            )
        )
        """Looks at a request's host, origin and kind."""


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
    return Call(tool, arguments, cast(Caller, request.scope[CALLER]), asked, address(request))


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
