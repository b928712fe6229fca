"""Examples of the documents of callers, projects, members, keys and the audit log."""

from __future__ import annotations

from everloop.events import Json

_WORKSPACE: Json = {"workspace_id": "local", "name": "Local", "created_at": "2026-11-29T21:31:46.000000Z"}
_PROJECT: Json = {
    "project_id": "local",
    "workspace_id": "local",
    "name": "Local",
    "created_at": "2026-11-29T21:31:46.000000Z",
}
_MEMBER: Json = {
    "user_id": "owner",
    "email": None,
    "name": "Owner",
    "role": "admin",
    "project_id": "local",
    "created_at": "2026-11-29T21:31:46.000000Z",
    "disabled_at": None,
}
_KEY: Json = {
    "prefix": "6f4de2a43d87",
    "name": "nightly",
    "kind": "automation",
    "permissions": ["read", "training.run", "training.stop"],
    "workspace_id": "local",
    "project_id": "local",
    "created_by": "user:owner",
    "created_at": "2026-11-29T21:31:46.000000Z",
    "expires_at": None,
    "revoked_at": None,
    "used_at": None,
    "state": "active",
}

EXAMPLES: dict[str, Json] = {
    "Me": {
        "auth_method": "api_key",
        "subject": "key:6f4de2a43d87",
        "permissions": ["read", "training.run", "training.stop"],
        "workspace_id": "local",
        "project_id": "local",
        "workspace": _WORKSPACE,
        "project": _PROJECT,
        "person": None,
    },
    "Workspaces": {"items": [_WORKSPACE], "next_cursor": None, "observed_at": "2026-11-29T21:31:46.000000Z"},
    "Projects": {"items": [_PROJECT], "next_cursor": None, "observed_at": "2026-11-29T21:31:46.000000Z"},
    "Project": _PROJECT,
    "ProjectLimits": {
        "workspace_id": "local",
        "project_id": "local",
        "requests_per_minute": 6000,
        "active_runs": 16,
        "rounds_of_a_run": 1000,
        "characters_of_a_text": 4000,
        "waiting_train_jobs": 1000,
        "rows_of_a_train_job": 100000,
        "seconds_of_a_train_job": 900.0,
        "items_of_a_page": 100,
    },
    "Members": {"items": [_MEMBER], "next_cursor": None, "observed_at": "2026-11-29T21:31:46.000000Z"},
    "Member": _MEMBER,
    "MemberCandidates": {
        "items": [
            {
                "user_id": "user_01M8MMSCXYYTCCR825N186DG34",
                "email": "ada@example.org",
                "name": "Ada",
                "disabled_at": None,
            }
        ],
        "next_cursor": None,
        "observed_at": "2026-11-29T21:31:46.000000Z",
    },
    "Keys": {"items": [_KEY], "next_cursor": None, "observed_at": "2026-11-29T21:31:46.000000Z"},
    "Key": {
        "prefix": "6f4de2a43d87",
        "name": "nightly",
        "kind": "automation",
        "permissions": ["read", "training.run", "training.stop"],
        "workspace_id": "local",
        "project_id": "local",
        "created_by": "user:owner",
        "created_at": "2026-11-29T21:31:46.000000Z",
        "expires_at": None,
        "revoked_at": "2026-11-29T21:31:46.000000Z",
        "used_at": None,
        "state": "revoked",
    },
    "NewKey": {
        "key": "elk_6f4de2a43d87_SECRET",
        "prefix": "6f4de2a43d87",
        "name": "nightly",
        "kind": "automation",
        "permissions": ["read", "training.run", "training.stop"],
        "workspace_id": "local",
        "project_id": "local",
        "created_by": "user:owner",
        "created_at": "2026-11-29T21:31:46.000000Z",
        "expires_at": None,
        "revoked_at": None,
        "used_at": None,
        "state": "active",
    },
    "Audit": {
        "items": [
            {
                "id": 7,
                "at": "2026-11-29T21:31:46.000000Z",
                "workspace_id": "local",
                "project_id": "local",
                "subject": "user:owner",
                "surface": "rest",
                "action": "POST /v1/workspaces/{workspace_id}/projects/{project_id}/keys",
                "target": "/v1/workspaces/local/projects/local/keys",
                "status": 201,
                "code": None,
                "request_id": "9a8b7c6d5e4f3a2b",
                "address": "127.0.0.1",
            }
        ],
        "next_cursor": None,
        "observed_at": "2026-11-29T21:31:46.000000Z",
    },
}
"""Name of a document -> an example."""
