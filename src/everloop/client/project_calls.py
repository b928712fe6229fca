"""Methods about who one is, and about a project: keys, members, audit log."""

from __future__ import annotations

from collections.abc import Mapping

from everloop.client.calls import Answer, Calls
from everloop.client.operations import checked
from everloop.events import JsonValue


class ProjectCalls(Calls[Answer]):
    """Identity, and what an Admin looks after."""

    def me(self) -> Answer:
        """Who the key belongs to: workspace, project and permissions."""
        return self._call("me")

    def login_start(self, *, key_hash: str, poll_hash: str, code_hash: str) -> Answer:
        """Ask for a key that a person will grant; the three are SHA-256 in hex."""
        return self._call("login_start", key_hash=key_hash, poll_hash=poll_hash, code_hash=code_hash)

    def login_poll(self, *, grant_id: str, poll_token: str) -> Answer:
        """Whether it was granted: pending, approved, denied or cancelled."""
        return self._call("login_poll", grant_id=grant_id, poll_token=poll_token)

    def login_cancel(self, *, grant_id: str, poll_token: str) -> Answer:
        """Take the request back."""
        return self._call("login_cancel", grant_id=grant_id, poll_token=poll_token)

    def list_workspaces(self) -> Answer:
        """The workspaces of the projects you see."""
        return self._call("list_workspaces")

    def list_projects(self, workspace_id: str) -> Answer:
        """The projects you see in a workspace."""
        return self._call("list_projects", workspace_id=workspace_id)

    def project(self, workspace_id: str, project_id: str) -> Answer:
        """One project."""
        return self._call("project", workspace_id=workspace_id, project_id=project_id)

    def project_limits(self, workspace_id: str, project_id: str) -> Answer:
        """How much may be asked of the installation."""
        return self._call("project_limits", workspace_id=workspace_id, project_id=project_id)

    def operation(self, project_id: str, operation_id: str) -> Answer:
        """How a deletion went."""
        return self._call("operation", project_id=project_id, operation_id=operation_id)

    def list_keys(
        self, workspace_id: str, project_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Answer:
        """A page of the project's keys, newest first, without their secrets."""
        return self._call("list_keys", workspace_id=workspace_id, project_id=project_id, limit=limit, cursor=cursor)

    def create_key(self, workspace_id: str, project_id: str, document: Mapping[str, JsonValue]) -> Answer:
        """Make a key; the answer alone tells its secret."""
        body = checked(dict(document))
        return self._call("create_key", workspace_id=workspace_id, project_id=project_id, document=body)

    def revoke_key(self, workspace_id: str, project_id: str, prefix: str) -> Answer:
        """Refuse a key from its next request on."""
        return self._call("revoke_key", workspace_id=workspace_id, project_id=project_id, prefix=prefix)

    def list_members(self, workspace_id: str, project_id: str) -> Answer:
        """The project's members."""
        return self._call("list_members", workspace_id=workspace_id, project_id=project_id)

    def member_candidates(self, workspace_id: str, project_id: str, *, q: str | None = None) -> Answer:
        """People who are no members; `q` is part of a name or e-mail address."""
        return self._call("member_candidates", workspace_id=workspace_id, project_id=project_id, q=q)

    def set_member(self, workspace_id: str, project_id: str, user_id: str, *, role: str) -> Answer:
        """Make a person a member: ``viewer``, ``developer`` or ``admin``."""
        given = {"workspace_id": workspace_id, "project_id": project_id, "user_id": user_id}
        return self._call("set_member", **given, role=role)

    def remove_member(self, workspace_id: str, project_id: str, user_id: str) -> Answer:
        """End a membership, and revoke the person's keys."""
        return self._call("remove_member", workspace_id=workspace_id, project_id=project_id, user_id=user_id)

    def list_audit(
        self, workspace_id: str, project_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Answer:
        """A page of the audit log, newest first."""
        return self._call("list_audit", workspace_id=workspace_id, project_id=project_id, limit=limit, cursor=cursor)
