"""The MCP endpoint with clients that others wrote: the SDK's own, Inspector, and the conformance scenarios.

Inspector and the scenarios are Node programs in the folder ``.node`` (`make node`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from calling import Api
from jsonschema import Draft202012Validator
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_calling import MCP, rpc, start
from starlette.types import ASGIApp, Receive, Scope, Send

from everloop.api.mcp_tools import TOOLS
from everloop.server import configured
from everloop.service.permissions import KeyKind

ROOT = Path(__file__).parents[2]
NODE_FOLDER = Path(os.environ.get("EVERLOOP_NODE_FOLDER", ROOT / ".node"))
MODES = {"legacy": "2025-11-25", "auto": "2026-07-28"}
HANDSHAKES = ("2025-03-26", "2025-06-18", "2025-11-25")
SCENARIOS = ("server-initialize", "ping", "tools-list", "dns-rebinding-protection")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with Api(tmp_path_factory.mktemp("api")) as server:
        yield server


def with_client(api: Api, mode: str, key: str, use: Callable[[Client], Awaitable[None]]) -> None:
    """Have the SDK's client do something."""

    async def run() -> None:
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False) as http,
            Client(streamable_http_client(api.url + MCP, http_client=http), mode=mode) as client,
        ):
            await use(client)

    anyio.run(run)


@pytest.mark.parametrize("mode", MODES)
def test_the_sdk_lists_the_tools_with_their_exact_schemas(served: Api, mode: str) -> None:
    async def use(client: Client) -> None:
        assert client.protocol_version == MODES[mode]
        listed = (await client.list_tools()).tools
        assert {one.name: one.input_schema for one in listed} == {one.name: one.schema for one in TOOLS}
        hints = {one.name: one.annotations for one in listed}
        reading = {name for name, told in hints.items() if told and told.read_only_hint}
        assert reading == {"rsi_list_runs", "rsi_run_status", "rsi_status", "rsi_round"}
        assert {name for name, told in hints.items() if told and told.destructive_hint} == {"rsi_control"}

    with_client(served, mode, served.key(), use)


@pytest.mark.parametrize("mode", MODES)
def test_the_sdk_leads_a_run_from_its_start_to_its_stop(served: Api, mode: str) -> None:
    name = f"sdk-{mode}"

    async def use(client: Client) -> None:
        async def call(tool: str, **arguments: Any) -> Any:
            told = await client.call_tool(tool, arguments)
            assert not told.is_error, told
            return told.structured_content

        assert (await call("rsi_start_run", **start(name)))["state"] == "starting"
        assert name in [row["run"] for row in (await call("rsi_list_runs"))["items"]]
        since = (await call("rsi_status", run=name))["next_cursor"]
        assert (await call("rsi_steer", run=name, text="Carry."))["status"] == "queued"
        assert (await call("rsi_add_directive", run=name, text="Prefer carries."))["text"] == "Prefer carries."
        assert (await call("rsi_control", run=name, action="extend", rounds=9))["rounds_target"] == 9
        assert (await call("rsi_control", run=name, action="stop"))["stop_requested"] is True
        new = await call("rsi_status", run=name, since=since)
        assert [one["kind"] for one in new["events"]] == ["steer", "message", "message", "message"]
        assert (await call("rsi_run_status", run=name))["directives"][0]["text"] == "Prefer carries."

    with_client(served, mode, served.key(), use)


@pytest.mark.parametrize("mode", MODES)
def test_the_sdk_reads_a_refusal_as_the_result_of_the_tool(served: Api, mode: str) -> None:
    async def use(client: Client) -> None:
        told = await client.call_tool("rsi_steer", {"run": "none-such", "text": "x"})
        assert told.is_error
        assert told.structured_content["code"] == "ACCESS_DENIED"
        with pytest.raises(MCPError, match="rsi_fly is not known"):
            await client.call_tool("rsi_fly", {})

    with_client(served, mode, served.key(KeyKind.READ_ONLY), use)


@pytest.mark.parametrize("version", HANDSHAKES)
def test_each_handshake_is_answered_in_its_own_version(served: Api, version: str) -> None:
    asked = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    told = rpc(served, "initialize", asked, key=served.key()).json["result"]
    assert told["protocolVersion"] == version
    assert told["capabilities"] == {"tools": {"listChanged": False}}
    assert told["serverInfo"]["name"] == "everloop"
    listed = rpc(served, "tools/list", key=served.key(), **{"MCP-Protocol-Version": version}).json["result"]["tools"]
    assert [one["name"] for one in listed] == [one.name for one in TOOLS]
    for one in listed:
        Draft202012Validator.check_schema(one["inputSchema"])


def test_an_unknown_version_is_refused(served: Api) -> None:
    answer = rpc(served, "tools/list", key=served.key(), **{"MCP-Protocol-Version": "2030-01-01"})
    assert answer.status == 400
    assert "error" in answer.json


def node(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an installed Node program to its end."""
    found = NODE_FOLDER / "node_modules" / ".bin" / program
    assert found.exists(), f"{found} is missing: run `make node`"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    engine = shutil.which("node", path=path)
    assert engine is not None, "node is missing: install the development tools"
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    asked = [engine, str(found.resolve()), *arguments]
    return subprocess.run(asked, capture_output=True, text=True, timeout=120, env=environment | {"PATH": path})


def inspect(api: Api, *arguments: str) -> Any:
    """What Inspector's command line prints."""
    header = f"Authorization: Bearer {api.key()}"
    told = node("mcp-inspector", "--cli", api.url + MCP, "--transport", "http", "--header", header, *arguments)
    assert told.returncode == 0, told.stdout + told.stderr
    return json.loads(told.stdout)


def test_inspector_lists_the_tools(served: Api) -> None:
    listed = inspect(served, "--method", "tools/list")["tools"]
    assert {one["name"]: one["inputSchema"] for one in listed} == {one.name: one.schema for one in TOOLS}


def test_inspector_starts_a_run_and_looks_at_it(served: Api) -> None:
    asked = start("inspected")
    pairs = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in asked.items()]
    call = ("--method", "tools/call", "--tool-name")
    told = inspect(served, *call, "rsi_start_run", "--tool-arg", *pairs)
    assert told["structuredContent"]["state"] == "starting"
    told = inspect(served, *call, "rsi_status", "--tool-arg", "run=inspected")
    assert told["structuredContent"]["run"] == "inspected"


class Keyed:
    """Gives every request a key: the scenarios know no authentication. For tests alone."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app, self._header = app, (b"authorization", f"Bearer {key}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


class Open(Api):
    """A server that takes every request for one of the same key."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._server = uvicorn.Server(configured(Keyed(self.app, self.key()), self.place.settings))
        self._thread = threading.Thread(target=self._server.run, args=([self.listener],), daemon=True)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with Open(tmp_path_factory.mktemp("api")) as server:
        yield server


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_conformance_scenario_passes(opened: Api, tmp_path: Path, scenario: str) -> None:
    url = f"http://localhost:{opened.listener.getsockname()[1]}{MCP}"
    told = node("conformance", "server", "--url", url, "--scenario", scenario, "-o", str(tmp_path))
    checks = [one for file in tmp_path.rglob("checks.json") for one in json.loads(file.read_text())]
    assert checks, told.stdout + told.stderr
    assert [one for one in checks if one["status"] not in {"SUCCESS", "INFO"}] == []
    assert any(one["status"] == "SUCCESS" for one in checks)
    assert told.returncode == 0
