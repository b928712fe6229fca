"""What is done in a project that is named by its path: members, keys, the audit log.

The permission comes before the look whether there is such a project, and both before what was sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from everloop.events import Json, JsonValue
from everloop.service import audit, checkpoints, keys, people
from everloop.service.caller import Caller
from everloop.service.fields import fields, text
from everloop.service.identity import MOST, own_project
from everloop.service.installation import Installation
from everloop.service.key_request import key_request
from everloop.service.pages import Page, checked_limit, page, place_of
from everloop.service.permissions import Permission
from everloop.store.api_keys import ApiKeyRow

_MANAGE = Permission.MANAGE


def members(installation: Installation, workspace_id: str, project_id: str, caller: Caller) -> Page:
    """The members of the caller's project, longest there first, all on one page."""
    own = own_project(installation, workspace_id, project_id, caller, Permission.READ)
    return Page([people.member_json(one) for one in people.members(installation, caller, own)[:MOST]], None)


def candidates(installation: Installation, workspace_id: str, project_id: str, q: str, caller: Caller) -> Page:
    """People with `q` in their name or e-mail address who are no members; at most 20."""
    own_project(installation, workspace_id, project_id, caller, _MANAGE)
    return Page([people.user_json(one) for one in people.candidates(installation, caller, q)], None)


def set_member(
    installation: Installation, workspace_id: str, project_id: str, user_id: str, document: JsonValue, caller: Caller
) -> Json:
    """Give a person a role, from the JSON of a request: ``{"role"}``."""
    own = own_project(installation, workspace_id, project_id, caller, _MANAGE)
    role = text(fields(document, ("role",)), "role")
    return people.member_json(people.set_member(installation, own, user_id, role, caller))


def remove_member(installation: Installation, workspace_id: str, project_id: str, user_id: str, caller: Caller) -> None:
    """End a membership."""
    own = own_project(installation, workspace_id, project_id, caller, _MANAGE)
    people.remove_member(installation, own, user_id, caller)


def key_page(
    installation: Installation,
    workspace_id: str,
    project_id: str,
    caller: Caller,
    limit: JsonValue = None,
    cursor: str | None = None,
) -> Page:
    """A page of the keys of the caller's project, newest first."""
    own = own_project(installation, workspace_id, project_id, caller, _MANAGE)
    most, before = checked_limit(limit), place_of(cursor, 2)
    rows = sorted(keys.list_keys(installation, caller, own), key=_place_of_key, reverse=True)
    shown: Sequence[ApiKeyRow] = rows if before is None else [row for row in rows if _place_of_key(row) < before]
    return page(shown[: most + 1], most, _place_of_key, keys.key_json)


def create_key(
    installation: Installation, workspace_id: str, project_id: str, document: JsonValue, caller: Caller
) -> Json:
    """A new key of the caller's project, from the JSON of a request; ``key`` is told here and never again."""
    own = own_project(installation, workspace_id, project_id, caller, _MANAGE)
    key, row = keys.create_key(installation, key_request(document), caller, own)
    return {"key": key, **keys.key_json(row)}


def revoke_key(installation: Installation, workspace_id: str, project_id: str, prefix: str, caller: Caller) -> Json:
    """Refuse a key from its next request on; again is no error."""
    own_project(installation, workspace_id, project_id, caller, _MANAGE)
    return keys.key_json(keys.revoke_key(installation, prefix, caller))


def audited(
    installation: Installation,
    workspace_id: str,
    project_id: str,
    caller: Caller,
    limit: JsonValue = None,
    cursor: str | None = None,
) -> Page:
    """A page of the audit log of the caller's project, newest first."""
    own_project(installation, workspace_id, project_id, caller, _MANAGE)
    return audit.pages(installation, caller, limit, cursor)


def operation(installation: Installation, project_id: str, operation_id: str, caller: Caller) -> Json:
    """How a deletion in the caller's project went."""
    own_project(installation, None, project_id, caller, Permission.READ)
    return checkpoints.operation(installation, operation_id, caller)


def _place_of_key(row: ApiKeyRow) -> tuple[str, str]:
    return row.created_at, row.prefix
