"""Who may do what: the table of every operation and tool, and what each of thirteen callers may.

The permissions of callers stand here once more, apart from those of the product: a change there must be made here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Any

REFUSED = frozenset({"nobody", "revoked key", "expired key", "disabled person"})
"""Callers that are not let in at all."""
MAY: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "nobody": frozenset(),
        "read-only key": frozenset({"read"}),
        "automation key": frozenset({"read", "run", "stop"}),
        "key without stop": frozenset({"read", "run", "approve"}),
        "key with stop alone": frozenset({"stop"}),
        "key that approves": frozenset({"read", "approve"}),
        "viewer": frozenset({"read"}),
        "developer": frozenset({"read", "run", "stop"}),
        "admin": frozenset({"read", "run", "stop", "approve", "manage"}),
        "no member": frozenset(),
        "revoked key": frozenset(),
        "expired key": frozenset(),
        "disabled person": frozenset(),
    }
)
"""Caller -> what it may do in its project."""
PEOPLE = frozenset({"viewer", "developer", "admin", "no member", "disabled person"})
"""Callers that send a cookie."""
CHANGING = frozenset({"POST", "PUT", "DELETE"})

_fresh = count()


@dataclass(frozen=True)
class Operation:
    """A row of the table: what is sent and what comes of it."""

    name: str
    """Operation id of the OpenAPI document, with a word behind a colon where it has several rows."""
    method: str
    """HTTP method."""
    path: str
    """Path below the prefix, with placeholders of the targets."""
    needs: str
    """Permissions, with blanks between; "" for whoever is let in."""
    ok: int = 200
    """Status of who may, in their own project."""
    foreign: int | None = 404
    """Status of who may, with another project's targets; None: it names none."""
    stranger: int | None = None
    """Status of a person who is no member, where it is not that of others who lack the permission."""
    body: Any = None
    """What is sent, with placeholders."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Parameters, with placeholders."""
    uses_up: bool = False
    """Whether it can be done once only, so that its target is put back before each call."""
    tells_others: bool = False
    """Whether it tells Admins of all people of the installation, or of what callers of the project asked for."""

    @property
    def changes(self) -> bool:
        """Whether it changes something."""
        return self.method in CHANGING

    def sent(self, targets: Mapping[str, str]) -> dict[str, Any]:
        """Path, parameters and body for these targets."""
        values = {**targets, "fresh": f"new-{next(_fresh)}"}
        query = {name: value.format_map(values) for name, value in self.query.items()}
        return {"path": self.path.format_map(values), "params": query, "json": _filled(self.body, values)}

    def expected(self, caller: str, scope: str) -> int:
        """The status: `scope` is "own", "foreign" (another project's targets) or "header" (another project named)."""
        if caller in REFUSED:
            return 401
        if scope == "header":
            return 403
        if caller == "no member" and self.stranger is not None:
            return self.stranger
        if not set(self.needs.split()) <= MAY[caller]:
            return 403
        return self.ok if scope == "own" or self.foreign is None else self.foreign


@dataclass(frozen=True)
class Tool(Operation):
    """A tool of the MCP endpoint; its status is that of the code it refuses with. It takes keys alone."""

    def expected(self, caller: str, scope: str) -> int:
        return 401 if caller in PEOPLE else super().expected(caller, scope)


def _filled(body: Any, values: Mapping[str, str]) -> Any:
    if isinstance(body, str):
        return body.format_map(values)
    if isinstance(body, dict):
        return {name: _filled(value, values) for name, value in body.items()}
    return [_filled(one, values) for one in body] if isinstance(body, list) else body


def _get(name: str, path: str, needs: str = "read", **more: Any) -> Operation:
    return Operation(name, "GET", path, needs, **more)


def _post(name: str, path: str, needs: str, body: Any = None, **more: Any) -> Operation:
    return Operation(name, "POST", path, needs, body=body, **more)


def _tool(name: str, needs: str, arguments: Any, **more: Any) -> Tool:
    return Tool(name, "POST", "/agent-runs/rsi/mcp", needs, body=arguments, **more)


_RUNS = "/agent-runs/rsi/runs"
_HERE = "/workspaces/{workspace}/projects/{project_id}"
_START: Any = {"run": "{fresh}", "brief": "Improve.", "domain": "synthetic", "limits": {"model_usd_cap": 1}}
_ROWS: Any = [{"family": "s1", "prompt": "s1:1", "completion": "7"}]
_JOB: Any = {"type": "train", "spec": {"base_model": "synthetic-job", "rows": _ROWS, "steps": 5}}
_FROM: Any = {"type": "train", "spec": {**_JOB["spec"], "base_model": "nano", "parent": "{parent}"}}

OPEN = frozenset({"healthz", "readyz", "metrics", "get_checkpoint_content"})
"""Operations without a key: whoever holds the address, or asks from this machine."""
SIGNING_IN = frozenset({"start_sign_in", "poll_sign_in", "cancel_sign_in"})
"""Operations of who has no key yet: whoever asks gets the same."""

OPERATIONS: tuple[Operation, ...] = (
    _get("list_runs", _RUNS, foreign=None),
    _post("start_run", _RUNS, "read run", _START, ok=201, foreign=None),
    _post("start_run:taken", _RUNS, "read run", {**_START, "run": "{run}"}, ok=409, foreign=409),
    _get("get_run", _RUNS + "/{run}"),
    _get("get_run:compact", _RUNS + "/{run}", query={"compact": "true"}),
    _get("get_round", _RUNS + "/{run}/rounds/1"),
    _get("get_history", _RUNS + "/{run}/history"),
    _get("get_live", _RUNS + "/{run}/live"),
    _get("get_live:since", _RUNS + "/{run}/live", query={"since": "0"}),
    _post("steer", _RUNS + "/{run}/steer", "read run", {"text": "Begin with s3."}, ok=202),
    _post("add_directive", _RUNS + "/{run}/directives", "read run", {"text": "Short answers."}, ok=201),
    _post("control:extend", _RUNS + "/{run}/control", "read run", {"action": "extend", "rounds": 4}),
    _post("control:stop", _RUNS + "/{run}/control", "read run stop", {"action": "stop"}),
    _post("control:resume", _RUNS + "/{halted}/control", "read run", {"action": "resume"}, uses_up=True),
    _get("list_checkpoints", "/job/checkpoints", foreign=None),
    _get("list_checkpoints:job", "/job/checkpoints", query={"job_id": "{job_id}"}, foreign=200),
    _get("list_checkpoints:run", "/job/checkpoints", query={"run_id": "{run}"}, foreign=200),
    _get("download_checkpoint", "/job/checkpoints/download", query={"path": "{checkpoint_id}"}),
    Operation("delete_checkpoint", "DELETE", "/job/checkpoints/{spare_id}", "run"),
    _get("get_operation", "/projects/{project_id}/operations/{operation_id}"),
    _get("get_operation:mine", "/projects/local/operations/{operation_id}"),
    _get("list_jobs", "/job", foreign=None),
    _post("submit_job", "/job", "read run", _JOB, ok=201, foreign=None),
    _post("submit_job:parent", "/job", "read run", _FROM, ok=201, foreign=422),
    _get("list_training_models", "/job/training-models", foreign=None),
    _get("get_job", "/job/{job_id}"),
    _get("get_job_result", "/job/{job_id}/result"),
    _get("get_job_logs", "/job/{job_id}/logs"),
    _post("stop_job", "/job/{job_id}/stop", "read stop"),
    _get("list_trials", "/trials", foreign=None),
    _get("list_trials:job", "/trials", query={"job_id": "{job_id}"}, foreign=200),
    _get("get_trial", "/trials/{trial_id}"),
    _get("get_trial_result", "/trials/{trial_id}/result"),
    _get("get_trial_snapshot", "/trials/{trial_id}/snapshot"),
    _get("list_trial_artifacts", "/trials/{trial_id}/artifacts"),
    _get("get_trial_artifact", "/trials/{trial_id}/artifacts/weights.safetensors/content"),
    _post("stop_trial", "/trials/{trial_id}/stop", "read stop"),
    _get("list_approvals", "/approvals", foreign=None),
    _get("get_approval", "/approvals/{approval_id}"),
    _post(
        "decide_approval",
        "/approvals/{approval_id}/decision",
        "approve",
        {"decision": "reject", "reason": "No."},
        uses_up=True,
    ),
    _get("get_sample", "/samples", query={"week": "{week}"}, foreign=None),
    _post("judge_sample", "/samples/{run}/{candidate}/verdict", "approve", {"good": True}, ok=201),
    _get("get_me", "/me", "", foreign=None),
    _get("list_workspaces", "/workspaces", "", foreign=None),
    _get("list_projects", "/workspaces/{workspace}/projects", "", foreign=None, stranger=404),
    _get("get_project", _HERE, "", stranger=404),
    _get("get_limits", _HERE + "/limits"),
    _get("list_members", _HERE + "/members"),
    _get("list_member_candidates", _HERE + "/member-candidates", "manage", tells_others=True),
    Operation("set_member", "PUT", _HERE + "/members/{user_id}", "manage", body={"role": "viewer"}),
    Operation("remove_member", "DELETE", _HERE + "/members/{leaving_id}", "manage", ok=204, uses_up=True),
    _get("list_audit", _HERE + "/audit", "manage", tells_others=True),
    _get("list_keys", _HERE + "/keys", "manage"),
    _post("create_key", _HERE + "/keys", "manage", {"kind": "read-only"}, ok=201),
    Operation("revoke_key", "DELETE", _HERE + "/keys/{prefix}", "manage"),
    Operation("revoke_key:mine", "DELETE", "/workspaces/local/projects/local/keys/{prefix}", "manage"),
)
"""Operations that ask who calls."""

TOOLS: tuple[Tool, ...] = (
    _tool("rsi_list_runs", "read", {}, foreign=None),
    _tool("rsi_run_status", "read", {"run": "{run}"}),
    _tool("rsi_status", "read", {"run": "{run}"}),
    _tool("rsi_round", "read", {"run": "{run}", "round": 1}),
    _tool("rsi_start_run", "read run", _START, foreign=None),
    _tool("rsi_start_run:taken", "read run", {**_START, "run": "{run}"}, ok=409, foreign=409),
    _tool("rsi_add_directive", "read run", {"run": "{run}", "text": "Short answers."}),
    _tool("rsi_steer", "read run", {"run": "{run}", "text": "Begin with s3."}),
    _tool("rsi_control:extend", "read run", {"run": "{run}", "action": "extend", "rounds": 4}),
    _tool("rsi_control:stop", "read run stop", {"run": "{run}", "action": "stop"}),
    _tool("rsi_control:resume", "read run", {"run": "{halted}", "action": "resume"}, uses_up=True),
)
"""Tools of the MCP endpoint."""
