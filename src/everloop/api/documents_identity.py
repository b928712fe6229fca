"""Documents of who one is, of projects, their members and keys, and of the audit log."""

from __future__ import annotations

from everloop.api.shapes import (
    AMOUNT,
    COUNT,
    TEXT,
    TIME,
    array,
    listing,
    nullable,
    one_of,
    record,
    ref,
    told,
)
from everloop.events import Json
from everloop.service.keys import MAX_DAYS, NAME
from everloop.service.permissions import KeyKind, Permission, Role

_GIVEN = tuple(one for one in Permission if one is not Permission.MANAGE)
_WORKSPACE: dict[str, Json] = {"workspace_id": TEXT, "name": TEXT, "created_at": TIME}
_PROJECT: dict[str, Json] = {"project_id": TEXT, "workspace_id": TEXT, "name": TEXT, "created_at": TIME}
_PERSON: dict[str, Json] = {
    "user_id": TEXT,
    "email": nullable(TEXT),
    "name": TEXT,
    "role": nullable(one_of(*Role)),
}
_ME: dict[str, Json] = {
    "auth_method": one_of("api_key", "session"),
    "subject": told(TEXT, "`key:PREFIX`, or `user:ID` of a person who signed in."),
    "permissions": array(one_of(*Permission)),
    "workspace_id": nullable(TEXT),
    "project_id": nullable(TEXT),
    "workspace": nullable(ref("Workspace")),
    "project": nullable(ref("Project")),
    "person": told(nullable(record(_PERSON)), "The person of a session; null for a key."),
}
_LIMITS: dict[str, Json] = {
    "workspace_id": TEXT,
    "project_id": TEXT,
    "requests_per_minute": told(COUNT, "Of one key or session."),
    "active_runs": told(COUNT, "Runs that may be starting or running at once, over all projects."),
    "rounds_of_a_run": COUNT,
    "characters_of_a_text": told(COUNT, "Of a brief, steer or directive."),
    "waiting_train_jobs": COUNT,
    "rows_of_a_train_job": COUNT,
    "seconds_of_a_train_job": AMOUNT,
    "items_of_a_page": COUNT,
}
_MEMBER: dict[str, Json] = {
    "user_id": TEXT,
    "email": nullable(TEXT),
    "name": TEXT,
    "role": one_of(*Role),
    "project_id": TEXT,
    "created_at": told(TIME, "When they got this role."),
    "disabled_at": told(nullable(TIME), "Since when they may not sign in."),
}
_CANDIDATE: dict[str, Json] = {"user_id": TEXT, "email": nullable(TEXT), "name": TEXT, "disabled_at": nullable(TIME)}
_KEY: dict[str, Json] = {
    "prefix": told(TEXT, "The key's public part, by which it is named."),
    "name": TEXT,
    "kind": one_of(*KeyKind),
    "permissions": array(one_of(*_GIVEN)),
    "workspace_id": TEXT,
    "project_id": TEXT,
    "created_by": TEXT,
    "created_at": TIME,
    "expires_at": nullable(TIME),
    "revoked_at": nullable(TIME),
    "used_at": told(nullable(TIME), "Its last use, to the minute."),
    "state": one_of("active", "expired", "revoked"),
}
_ROW: dict[str, Json] = {
    "id": COUNT,
    "at": TIME,
    "workspace_id": nullable(TEXT),
    "project_id": nullable(TEXT),
    "subject": told(nullable(TEXT), "Who asked; null when nobody was known."),
    "surface": told(TEXT, "`rest`, `mcp`, `console` or `cli`."),
    "action": TEXT,
    "target": nullable(TEXT),
    "status": COUNT,
    "code": told(nullable(TEXT), "Of a refusal."),
    "request_id": nullable(TEXT),
    "address": nullable(TEXT),
}

SCHEMAS: dict[str, Json] = {
    "Me": record(_ME),
    "Workspaces": listing("Workspace"),
    "Workspace": record(_WORKSPACE),
    "Projects": listing("Project"),
    "Project": record(_PROJECT),
    "ProjectLimits": record(_LIMITS, description="What may be asked of this installation."),
    "Members": listing("Member"),
    "Member": record(_MEMBER),
    "MemberCandidates": listing("MemberCandidate"),
    "MemberCandidate": record(_CANDIDATE),
    "Keys": listing("Key"),
    "Key": record(_KEY, description="A key without its secret."),
    "NewKey": record({"key": told(TEXT, "The key itself; told here and never again."), **_KEY}),
    "Audit": listing("AuditRow"),
    "AuditRow": record(_ROW),
}
"""Name -> schema."""

_DAYS: Json = {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": MAX_DAYS}
_WANTED: dict[str, Json] = {
    "name": {"type": ["string", "null"], "maxLength": NAME, "description": "What it is for."},
    "kind": {**nullable(one_of(*KeyKind)), "default": str(KeyKind.AUTOMATION)},
    "permissions": told(nullable(array(one_of(*_GIVEN))), "With the kind `custom`, at least one; else none."),
    "expires_days": told(_DAYS, "Days after which it is refused; null: it does not expire."),
}
_PLAIN = tuple(one for one in KeyKind if one is not KeyKind.CUSTOM)
KEY_REQUEST: Json = record(_WANTED, optional=tuple(_WANTED)) | {
    "oneOf": [
        {
            "properties": {"kind": {"const": KeyKind.CUSTOM}, "permissions": {"type": "array", "minItems": 1}},
            "required": ["kind", "permissions"],
        },
        {"properties": {"kind": {"enum": [*_PLAIN, None]}, "permissions": {"maxItems": 0}}},
    ]
}
"""Body of a new key."""
MEMBERSHIP: Json = record({"role": one_of(*Role)})
"""Body of a change of role."""
