"""Who a caller is, where it may act, and how much of it."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection

from everloop.errors import NotFound, ProjectAccessDenied
from everloop.events import Json, JsonValue
from everloop.service import job_request, jobs
from everloop.service import projects as seen
from everloop.service._transactions import reading
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.pages import LIMITS, Page
from everloop.service.permissions import Permission
from everloop.service.request import BRIEF, ROUNDS
from everloop.store import members, projects, users, workspaces
from everloop.store.projects import ProjectRow
from everloop.store.workspaces import WorkspaceRow

MOST = 1000
"""Most workspaces or projects that are told; clients take no more, and no second page."""


def me(installation: Installation, caller: Caller) -> Json:
    """The caller: how it is known, what it may do and where; null for what it has none of."""

    def read(tx: Connection) -> Json:
        workspace, project = workspaces.get(tx, caller.workspace_id), projects.get(tx, caller.project_id)
        named = workspace and project and project.workspace_id == workspace.workspace_id
        return {
            "auth_method": caller.method,
            "subject": caller.subject,
            "permissions": [*sorted(str(one) for one in caller.permissions)],
            "workspace_id": caller.workspace_id or None,
            "project_id": caller.project_id or None,
            "workspace": workspace_json(workspace) if workspace else None,
            "project": project_json(project) if named and project else None,
            "person": _person(tx, caller),
        }

    return reading(installation, read)


def workspace_page(installation: Installation, caller: Caller) -> Page:
    """The workspaces a caller sees, all on one page."""
    return Page([workspace_json(one) for one in seen.workspaces(installation, caller)[:MOST]], None)


def project_page(installation: Installation, workspace_id: str, caller: Caller) -> Page:
    """The projects a caller sees in a workspace, all on one page. NotFound when it sees no such workspace."""
    if all(one.workspace_id != workspace_id for one in seen.workspaces(installation, caller)):
        raise NotFound(f"workspace {workspace_id!r:.140} is not known", then="List the workspaces there are")
    inside = [one for one in seen.listing(installation, caller) if one.workspace_id == workspace_id]
    return Page([project_json(one) for one in inside[:MOST]], None)


def project(installation: Installation, workspace_id: str, project_id: str, caller: Caller) -> Json:
    """A project the caller sees. NotFound, the same words for both, when it does not or there is none."""
    return project_json(_seen(installation, workspace_id, project_id, caller))


def own_project(
    installation: Installation, workspace_id: str | None, project_id: str, caller: Caller, permission: Permission
) -> str:
    """The id of the project, if the caller acts in it and has the permission; what happens there asks for it first.

    AccessDenied without the permission, NotFound for a project it does not see, ProjectAccessDenied for another one.
    """
    caller.require(permission)
    inside = caller.workspace_id if workspace_id is None else workspace_id
    if caller.sees_all or (inside, project_id) == (caller.workspace_id, caller.project_id):
        return project_id
    _seen(installation, inside, project_id, caller)
    raise ProjectAccessDenied("you act in another project now", then="Choose this one first, or use a key of it")


def limits(installation: Installation, workspace_id: str, project_id: str, caller: Caller) -> Json:
    """How much may be asked of this installation; the same for every project."""
    own = own_project(installation, workspace_id, project_id, caller, Permission.READ)
    settings = installation.settings
    return {
        "workspace_id": workspace_id,
        "project_id": own,
        "requests_per_minute": settings.api_requests_per_minute,
        "active_runs": settings.max_active_runs,
        "rounds_of_a_run": ROUNDS[1],
        "characters_of_a_text": BRIEF,
        "waiting_train_jobs": jobs.WAITING,
        "rows_of_a_train_job": job_request.ROWS,
        "seconds_of_a_train_job": settings.job_time_limit_seconds,
        "items_of_a_page": LIMITS[1],
    }


def workspace_json(row: WorkspaceRow) -> Json:
    """A workspace as a document."""
    return {"workspace_id": row.workspace_id, "name": row.name, "created_at": row.created_at}


def project_json(row: ProjectRow) -> Json:
    """A project as a document."""
    return {
        "project_id": row.project_id,
        "workspace_id": row.workspace_id,
        "name": row.name,
        "created_at": row.created_at,
    }


def _seen(installation: Installation, workspace_id: str, project_id: str, caller: Caller) -> ProjectRow:
    found = seen.get_project(installation, project_id, caller)
    if found.workspace_id != workspace_id:
        raise NotFound(f"project {project_id!r:.140} is not known", then="List the projects there are")
    return found


def _person(tx: Connection, caller: Caller) -> JsonValue:
    """The person of a session, with their role where they act; null for a key."""
    if caller.method != "session":
        return None
    user_id = caller.subject.removeprefix("user:")
    user, member = users.get(tx, user_id), members.get(tx, caller.project_id, user_id)
    if user is None:
        return None
    told = {"user_id": user_id, "email": user.email, "name": user.name, "role": member.role if member else None}
    return cast(JsonValue, told)
