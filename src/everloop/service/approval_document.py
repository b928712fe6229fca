"""How an approval is told, in every interface."""

from __future__ import annotations

from everloop.events import Json
from everloop.store.approvals import ApprovalRow

SHOWN = ("round", "baseline", "judge", "sha256", "rationale", "evidence")
"""What a decision can rest on."""


def approval_json(row: ApprovalRow) -> Json:
    """The approval object; what is not decided is null."""
    return {
        "approval_id": row.approval_id,
        "run": row.run,
        "kind": row.kind,
        "candidate": row.candidate,
        "state": row.state,
        "reason": row.reason,
        "created_at": row.created_at,
        "decided_at": row.decided_at,
        "decided_by": row.decided_by,
        **{name: row.document.get(name) for name in SHOWN},
    }
