"""Checks of the MCP tools, as plain JSON-RPC."""

from __future__ import annotations

import json
import uuid

from vendor_bench import OVER, RSI, TOOLS, Bench

FEW = {"diag_per_family": 8, "dev_n": 40, "admission_n": 12, "eval_limit": 240, "blind_n": 60}
"""Sizes of a run that is only told to stop; the client's own start cannot say any, so that the others are as usual."""


class Mcp(Bench):
    def mcp(self):
        def call(method, params=None, key=..., notify=False):
            message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
            if not notify:
                message["id"] = uuid.uuid4().hex
            return self.http("POST", RSI + "/mcp", message, key=key, Accept="application/json, text/event-stream")

        def tool(name, arguments, key=...):
            answer = call("tools/call", {"name": name, "arguments": arguments}, key)
            result = (answer[1] or {}).get("result") if isinstance(answer[1], dict) else None
            return result if isinstance(result, dict) else {}, answer

        answer = call(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "conformance", "version": "1"},
            },
        )
        kind = answer[2].get("Content-Type", "") if answer[2] else ""
        self.check(
            "mcp.initialize",
            answer[0] == 200 and ((answer[1] or {}).get("result") or {}).get("protocolVersion"),
            answer[3][:200],
        )
        self.check("mcp.json", kind.startswith("application/json"), kind)
        self.check("mcp.notification", call("notifications/initialized", notify=True)[0] == 202, must=False)
        listed = ((call("tools/list")[1] or {}).get("result") or {}).get("tools") or []
        names = {item.get("name") for item in listed}
        self.check("mcp.tools", names >= TOOLS, f"missing {TOOLS - names}")
        self.check(
            "mcp.schemas", listed and all((item.get("inputSchema") or {}).get("type") == "object" for item in listed)
        )
        run = f"{self.tag}-m"
        result, answer = tool(
            "rsi_start_run",
            {
                "run": run,
                "brief": "via MCP",
                "limits": {"model_usd_cap": self.args.cap, **FEW},
                "dry_run": True,
                "rounds": 1000,
            },
        )
        self.check("mcp.start", not result.get("isError") and "starting" in json.dumps(result), answer[3][:200])
        view = self.http("GET", f"{RSI}/runs/{run}/live")
        self.check("mcp.start.visible", view[0] == 200, view[3][:200])
        result, answer = tool("rsi_status", {"run": run})
        self.check("mcp.status", not result.get("isError") and "next_cursor" in json.dumps(result), answer[3][:200])
        result, answer = tool("rsi_run_status", {"run": run, "compact": True})
        self.check("mcp.run_status", not result.get("isError") and run in json.dumps(result), answer[3][:200])
        result, answer = tool("rsi_list_runs", {})
        self.check("mcp.list", run in json.dumps(result), answer[3][:200])
        for name, arguments, code in (
            ("rsi_status", {"run": f"{self.tag}-none"}, "RSI_RUN_NOT_FOUND"),
            ("rsi_steer", {"run": run, "text": ""}, "INVALID_STEER"),
            (
                "rsi_start_run",
                {"run": run, "brief": "x", "limits": {"model_usd_cap": 1}, "dry_run": True},
                "RSI_CONFLICT",
            ),
            ("rsi_start_run", {"run": "BAD", "brief": "x", "limits": {"model_usd_cap": 1}}, "INVALID_RSI_REQUEST"),
        ):
            result, answer = tool(name, arguments)
            self.check(
                f"mcp.error.{code}",
                b"error" in answer[3].lower() and code.encode() in answer[3],
                answer[3][:200],
                must=False,
            )
        result, answer = tool("rsi_steer", {"run": run, "text": "from an agent"})
        self.check("mcp.steer", not result.get("isError") and "queued" in json.dumps(result), answer[3][:200])
        result, answer = tool("rsi_add_directive", {"run": run, "text": "standing order"})
        self.check("mcp.directive", result and not result.get("isError"), answer[3][:200])
        if self.args.viewer_key:
            result, answer = tool("rsi_steer", {"run": run, "text": "x"}, key=self.args.viewer_key)
            self.check("mcp.viewer", b"ACCESS_DENIED" in answer[3], answer[3][:200])
        if self.args.nostop_key:
            result, answer = tool("rsi_control", {"run": run, "action": "stop"}, key=self.args.nostop_key)
            self.check("mcp.nostop", b"ACCESS_DENIED" in answer[3], answer[3][:200])
        result, answer = tool("rsi_control", {"run": run, "action": "stop"})
        self.check("mcp.stop", result and not result.get("isError"), answer[3][:200])
        self.check(
            "mcp.stop.effect",
            self.wait(
                lambda: (self.http("GET", f"{RSI}/runs/{run}/live")[1] or {}).get("state") in OVER, self.args.patience
            ),
        )
        self.check("mcp.get-405", self.http("GET", RSI + "/mcp")[0] == 405, must=False)
        self.check("mcp.no-key", call("tools/list", key=None)[0] == 401)
