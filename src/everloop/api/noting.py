"""What is kept of a request: its figures, and a row in the audit log for what changed or was refused."""

from __future__ import annotations

import logging

import anyio.to_thread
from starlette.types import Scope

from everloop.api.metrics import Metrics
from everloop.api.rates import Rates, network
from everloop.api.redaction import redacted
from everloop.errors import RateLimited
from everloop.service import audit
from everloop.service.installation import Installation

log = logging.getLogger("everloop.api")

REFUSED = frozenset({401, 403, 429})
"""Statuses that are recorded whatever was asked."""
READING = frozenset({"GET", "HEAD", "OPTIONS"})
_COUNTED = "/v1/auth/cli/"


class Noting:
    """Notes each request of one server process."""

    def __init__(self, place: Installation, rates: Rates, metrics: Metrics) -> None:
        self._place, self._rates, self._metrics = place, rates, metrics

    async def __call__(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request and, where it matters, record it before its answer leaves."""
        route = getattr(scope.get("route"), "path", None) or "other"
        self._metrics.request(scope["method"], route, status, seconds)
        if _uncounted(scope, status):
            self._rates.refused(_address(scope))
        if self._matters(scope, status) and self._seldom(scope, status):
            await anyio.to_thread.run_sync(self._record, scope, route, status)

    def _matters(self, scope: Scope, status: int) -> bool:
        if status in REFUSED:
            return True
        # a command line that waits for a person asks every two seconds, and changes nothing by it
        looks = scope["method"] in READING or scope["path"].endswith("/auth/cli/poll")
        return not looks and _surface(scope) != "mcp"

    def _seldom(self, scope: Scope, status: int) -> bool:
        """Whether it is no part of a flood, which must not fill the log: a row is a write to the disk."""
        caller = scope["state"].get("caller")
        if caller is not None:
            return status != RateLimited.status or self._rates.first(f"{caller.subject} {status}")
        who = network(_address(scope))
        return self._rates.few(who) if status < 400 else self._rates.first(f"{who} {status}")

    def _record(self, scope: Scope, route: str, status: int) -> None:
        state = scope["state"]
        try:
            audit.record(
                self._place,
                caller=state.get("caller"),
                surface=_surface(scope),
                action=f"{scope['method']} {route}"[:128],
                target=redacted(scope["path"])[:256],
                status=status,
                code=state.get("code"),
                request_id=state.get("request_id"),
                address=_address(scope),
            )
        except Exception:
            # the change is made: an answer that says otherwise would be worse than a line in the log
            log.exception("request %s could not be recorded", state.get("request_id"))


def _uncounted(scope: Scope, status: int) -> bool:
    """Whether a stranger's try to change something failed where no route counts it, as it does refused keys."""
    if scope["state"].get("caller") is not None or scope["method"] in READING or _COUNTED in scope["path"]:
        return False
    return 400 <= status < 500 and status not in {401, RateLimited.status}


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0])[:64] if client else "unknown"


def _surface(scope: Scope) -> str:
    path = str(scope["path"]).removeprefix("/api")
    if path == "/v1/agent-runs/rsi/mcp":
        return "mcp"
    return "rest" if path.startswith("/v1/") else "console"
