"""Calls of MCP tools as plain JSON-RPC over HTTP, and a run to call them about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calling import Answer, Api, Session

from everloop.service import run_start
from everloop.service.caller import Caller
from everloop.service.permissions import ALL
from everloop.service.request import StartRequest

MCP = "/v1/agent-runs/rsi/mcp"
ACCEPT = {"Accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Told:
    """What a tool told."""

    answer: Answer

    @property
    def result(self) -> Any:
        assert self.answer.status == 200, self.answer.text
        return self.answer.json["result"]

    @property
    def code(self) -> str | None:
        """Code of a refusal; None for a success."""
        if not self.result["isError"]:
            return None
        assert set(self.document) == {"code", "message"}
        return str(self.document["code"])

    @property
    def document(self) -> Any:
        return self.result["structuredContent"]


def rpc(api: Api, method: str, params: Any = None, *, key: str | Session | None = None, **headers: str) -> Answer:
    """One JSON-RPC request of the handshake era."""
    sent: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        sent["params"] = params
    return api.post(MCP, key=key, json=sent, headers=ACCEPT | headers)


def tool(api: Api, name: str, arguments: Any = None, *, key: str | Session | None = None) -> Told:
    """One call of a tool."""
    return Told(rpc(api, "tools/call", {"name": name, "arguments": arguments or {}}, key=key))


def start(run: str, **more: Any) -> dict[str, Any]:
    """A start that needs no model and no torch."""
    return {"run": run, "brief": "Improve.", "limits": {"model_usd_cap": 1}, "domain": "synthetic", **more}


def started(api: Api, run: str, project: str = "local") -> str:
    """A run of a project, that nobody works on."""
    caller = Caller("key:test", "local", project, ALL)
    run_start.start(api.place, StartRequest.from_json(start(run)), caller)
    return run
