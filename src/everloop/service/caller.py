"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from everloop.errors import AccessDenied
from everloop.events import JsonValue
from everloop.service.permissions import ALL, Permission

WORKSPACE = PROJECT = "local"
"""Workspace and project of this account's own commands, and the first ones of a new installation."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller; its subject is the author of steers and directives."""

    subject: str = "local"
    """Who: ``key:PREFIX``, ``user:ID`` or, on the command line of this machine, ``local``."""
    workspace_id: str = WORKSPACE
    """Workspace the caller acts in."""
    project_id: str = PROJECT
    """Project the caller acts in."""
    permissions: frozenset[Permission] = frozenset()
    """What it may do there."""
    method: Literal["api_key", "session", "local"] = "api_key"
    """How it is known: by a key, by signing in, or by being this machine's account."""

    @property
    def sees_all(self) -> bool:
        """Whether it sees every project: the account that owns the store could read the file as well."""
        return self.method == "local"

    def may(self, permission: Permission) -> bool:
        """Whether it has the permission."""
        return permission in self.permissions

    def require(self, permission: Permission) -> None:
        """AccessDenied without the permission."""
        if permission not in self.permissions:
            then = "Use a key or an account that has it; see docs/keys-and-roles.md"
            raise AccessDenied(f"this needs the permission {permission}", why=f"{self.subject} lacks it", then=then)

    def to_json(self) -> dict[str, JsonValue]:
        """The run document's ``owner``."""
        return {"workspace_id": self.workspace_id, "project_id": self.project_id, "subject": self.subject}


LOCAL = Caller(permissions=ALL, method="local")
"""The owner of this machine's account, at its command line."""
