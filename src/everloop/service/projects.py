"""Workspaces and projects: make them, and list those a caller sees."""

from __future__ import annotations

import re

from sqlalchemy import Connection

from everloop.errors import AccessDenied, InvalidRequest, NotFound, ProjectAccessDenied, StateConflict
from everloop.service._transactions import reading, writing
from everloop.service.caller import WORKSPACE, Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Permission, Role
from everloop.store import members, projects
from everloop.store import workspaces as groups
from everloop.store.projects import ProjectRow
from everloop.store.workspaces import WorkspaceRow

NAME = 256
"""Most characters of a name."""
_WORKSPACE = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PROJECT = re.compile(r"[A-Za-z0-9_:-]{1,128}")


def create_workspace(installation: Installation, workspace_id: str, name: str, caller: Caller) -> WorkspaceRow:
    """A new workspace; for this machine's account only. InvalidRequest for its id, StateConflict when it is taken."""
    if not caller.sees_all:
        raise AccessDenied("workspaces are made on the server's command line", why=f"you are {caller.subject}")
    _checked(_WORKSPACE, "workspace", workspace_id, name)

    def write(tx: Connection) -> WorkspaceRow:
        if not groups.create(tx, workspace_id, name or workspace_id):
            raise StateConflict(f"workspace {workspace_id} is there already", then="Choose another id")
        return _workspace(tx, workspace_id)

    return writing(installation, write)


def create_project(
    installation: Installation, project_id: str, name: str, workspace_id: str | None, caller: Caller
) -> ProjectRow:
    """A new project in the caller's workspace; a person who makes one is its Admin.

    `workspace_id`: None for the caller's own; another one is for this machine's account only. InvalidRequest for its
    id, NotFound without the workspace, StateConflict when the id is taken.
    """
    caller.require(Permission.MANAGE)
    check_new(project_id, name)
    inside = workspace_id or (WORKSPACE if caller.sees_all else caller.workspace_id)
    if inside != caller.workspace_id and not caller.sees_all:
        raise ProjectAccessDenied("this is not your workspace", then="Leave the workspace out")

    def write(tx: Connection) -> ProjectRow:
        _workspace(tx, inside)
        if not projects.create(tx, project_id, inside, name or project_id):
            raise StateConflict(f"project {project_id} is there already", then="Choose another id")
        if caller.method == "session":
            members.put(tx, project_id, caller.subject.removeprefix("user:"), Role.ADMIN)
        return _project(tx, project_id)

    return writing(installation, write)


def listing(installation: Installation, caller: Caller) -> list[ProjectRow]:
    """The projects a caller sees, oldest first: a key its own, a person those they are a member of."""

    def read(tx: Connection) -> list[ProjectRow]:
        if caller.sees_all:
            return projects.listing(tx)
        if caller.method == "session":
            return projects.of_user(tx, caller.subject.removeprefix("user:"))
        own = projects.get(tx, caller.project_id)
        return [] if own is None else [own]

    return reading(installation, read)


def workspaces(installation: Installation, caller: Caller) -> list[WorkspaceRow]:
    """The workspaces a caller sees, oldest first: those of the projects it sees."""
    inside = {project.workspace_id for project in listing(installation, caller)}
    known = reading(installation, groups.listing)
    return [one for one in known if caller.sees_all or one.workspace_id in inside]


def get_project(installation: Installation, project_id: str, caller: Caller) -> ProjectRow:
    """A project the caller sees. NotFound, the same words for both, when it does not or there is none."""
    for project in listing(installation, caller):
        if project.project_id == project_id:
            return project
    raise _unknown("project", project_id)


def check_new(project_id: str, name: str) -> None:
    """InvalidRequest for an id or a name that no project can have."""
    _checked(_PROJECT, "project", project_id, name)


def _checked(form: re.Pattern[str], what: str, value: str, name: str) -> None:
    if not form.fullmatch(value):
        raise InvalidRequest(
            f"{value!r:.80} cannot be the id of a {what}", why=f"it is {form.pattern}", then="Choose another id"
        )
    if len(name) > NAME or not name.isprintable():
        raise InvalidRequest("this name cannot be accepted", why=f"up to {NAME} printable characters")


def _workspace(tx: Connection, workspace_id: str) -> WorkspaceRow:
    found = groups.get(tx, workspace_id) if _WORKSPACE.fullmatch(workspace_id) else None
    if found is None:
        raise _unknown("workspace", workspace_id)
    return found


def _project(tx: Connection, project_id: str) -> ProjectRow:
    found = projects.get(tx, project_id)
    if found is None:
        raise _unknown("project", project_id)
    return found


def _unknown(what: str, value: str) -> NotFound:
    return NotFound(f"{what} {value!r:.140} is not known", then=f"List the {what}s there are")
