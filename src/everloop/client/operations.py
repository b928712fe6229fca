"""Every route the client calls, in one table; both clients are built from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from urllib.parse import quote, urlencode

from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue

RUNS = "/v1/agent-runs/rsi/runs"
_JOB = "/v1/job"
_PROJECT = "/v1/workspaces/{workspace_id}/projects/{project_id}"
_TRIAL = "/v1/trials/{trial_id}"
_PAGE = ("limit", "cursor")


@dataclass(frozen=True, slots=True)
class Request:
    """A request, ready to be sent."""

    method: str
    """HTTP method."""
    path: str
    """Path and query, percent-encoded, beginning with ``/v1``."""
    content: bytes | None = None
    """JSON body; None: without one."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One route: where it is and which arguments go where."""

    method: str
    """HTTP method."""
    path: str
    """Path with its parameters in braces."""
    query: tuple[str, ...] = ()
    """Arguments that go into the query."""
    body: tuple[str, ...] = ()
    """Arguments that go into the JSON body."""
    document: bool = False
    """Whether the whole body is one document that the caller gives."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the path's parameters, in order."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.path) if name)

    def request(self, given: Mapping[str, JsonValue]) -> Request:
        """The request for these arguments; those that are None are left out."""
        segments = {name: segment(name, given[name]) for name in self.parameters}
        asked = {name: _word(given[name]) for name in self.query if given.get(name) is not None}
        path = self.path.format(**segments) + (f"?{urlencode(asked)}" if asked else "")
        return Request(self.method, path, self._content(given))

    def _content(self, given: Mapping[str, JsonValue]) -> bytes | None:
        if self.document:
            return encoded(given["document"])
        if not self.body:
            return None
        return encoded({name: given[name] for name in self.body if given.get(name) is not None})


def segment(name: str, value: JsonValue) -> str:
    """A path segment, percent-encoded in full. InvalidRequest where it would lead to another path."""
    if not isinstance(value, str | int) or isinstance(value, bool) or str(value) in {"", ".", ".."}:
        raise InvalidRequest(f"{name} cannot be asked for", why=f"got {value!r:.80}", then="Give its id")
    return quote(str(value), safe="", errors="replace")


def encoded(document: JsonValue) -> bytes:
    """`document` as JSON. InvalidRequest for what JSON has no word for, such as infinity."""
    try:
        return json.dumps(document, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("the request is no JSON", why=str(error), then="Use finite numbers") from error


def _word(value: JsonValue) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def checked(document: JsonValue) -> Json:
    """`document`, which must be an object."""
    if not isinstance(document, dict):
        raise InvalidRequest("the request must be a JSON object", why=f"got {type(document).__name__}")
    return document


OPERATIONS: Mapping[str, Operation] = {
    "list_runs": Operation("GET", RUNS, query=_PAGE),
    "start_run": Operation("POST", RUNS, document=True),
    "run": Operation("GET", RUNS + "/{run}", query=("compact",)),
    "round": Operation("GET", RUNS + "/{run}/rounds/{number}"),
    "history": Operation("GET", RUNS + "/{run}/history"),
    "live": Operation("GET", RUNS + "/{run}/live", query=("since",)),
    "steer": Operation("POST", RUNS + "/{run}/steer", body=("text",)),
    "directive": Operation("POST", RUNS + "/{run}/directives", body=("text",)),
    "control": Operation("POST", RUNS + "/{run}/control", body=("action", "rounds")),
    "list_jobs": Operation("GET", _JOB, query=("type", "status", *_PAGE)),
    "submit_job": Operation("POST", _JOB, document=True),
    "job": Operation("GET", _JOB + "/{job_id}"),
    "job_result": Operation("GET", _JOB + "/{job_id}/result"),
    "job_logs": Operation("GET", _JOB + "/{job_id}/logs", query=("source", "tail", *_PAGE)),
    "stop_job": Operation("POST", _JOB + "/{job_id}/stop"),
    "training_models": Operation("GET", _JOB + "/training-models"),
    "list_checkpoints": Operation("GET", _JOB + "/checkpoints", query=("train_job_id", "job_id", "run_id", *_PAGE)),
    "checkpoint_urls": Operation("GET", _JOB + "/checkpoints/download", query=("path", "job_id", "run_id")),
    "delete_checkpoint": Operation("DELETE", _JOB + "/checkpoints/{checkpoint_id}"),
    "list_approvals": Operation("GET", "/v1/approvals", query=("state", *_PAGE)),
    "approval": Operation("GET", "/v1/approvals/{approval_id}"),
    "decide_approval": Operation("POST", "/v1/approvals/{approval_id}/decision", body=("decision", "reason")),
    "samples": Operation("GET", "/v1/samples", query=("week",)),
    "judge_sample": Operation("POST", "/v1/samples/{run}/{candidate}/verdict", body=("good", "reason")),
    "list_trials": Operation("GET", "/v1/trials", query=("type", "job_id", *_PAGE)),
    "trial": Operation("GET", _TRIAL),
    "trial_result": Operation("GET", _TRIAL + "/result"),
    "trial_snapshot": Operation("GET", _TRIAL + "/snapshot"),
    "trial_artifacts": Operation("GET", _TRIAL + "/artifacts", query=_PAGE),
    "stop_trial": Operation("POST", _TRIAL + "/stop"),
    "list_workspaces": Operation("GET", "/v1/workspaces"),
    "list_projects": Operation("GET", "/v1/workspaces/{workspace_id}/projects"),
    "project": Operation("GET", _PROJECT),
    "project_limits": Operation("GET", _PROJECT + "/limits"),
    "operation": Operation("GET", "/v1/projects/{project_id}/operations/{operation_id}"),
    "list_keys": Operation("GET", _PROJECT + "/keys", query=_PAGE),
    "create_key": Operation("POST", _PROJECT + "/keys", document=True),
    "revoke_key": Operation("DELETE", _PROJECT + "/keys/{prefix}"),
    "list_members": Operation("GET", _PROJECT + "/members"),
    "member_candidates": Operation("GET", _PROJECT + "/member-candidates", query=("q",)),
    "set_member": Operation("PUT", _PROJECT + "/members/{user_id}", body=("role",)),
    "remove_member": Operation("DELETE", _PROJECT + "/members/{user_id}"),
    "list_audit": Operation("GET", _PROJECT + "/audit", query=_PAGE),
    "me": Operation("GET", "/v1/me"),
    "login_start": Operation("POST", "/v1/auth/cli/start", body=("key_hash", "poll_hash", "code_hash")),
    "login_poll": Operation("POST", "/v1/auth/cli/poll", body=("grant_id", "poll_token")),
    "login_cancel": Operation("POST", "/v1/auth/cli/cancel", body=("grant_id", "poll_token")),
}
"""Name of the client's method -> its route."""
