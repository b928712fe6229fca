"""What a caller may do: permissions, the roles of people, the kinds of keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType

from everloop.errors import InvalidRequest


class Permission(StrEnum):
    """One thing that a caller may or may not do in its project."""

    READ = "read"
    """Look at runs, jobs, checkpoints, approvals."""
    RUN = "training.run"
    """Start runs and train jobs, steer, direct, resume, extend."""
    STOP = "training.stop"
    """Stop train jobs and, with training.run, runs."""
    APPROVE = "training.approve"
    """Decide approvals and judge rejected candidates."""
    MANAGE = "project.manage"
    """Make and revoke keys, change members, read the audit log."""


class Role(StrEnum):
    """What a person is in a project."""

    VIEWER = "viewer"
    DEVELOPER = "developer"
    ADMIN = "admin"


class KeyKind(StrEnum):
    """What a key of a project is for."""

    AUTOMATION = "automation"
    """Project automation: reads, runs, stops."""
    READ_ONLY = "read-only"
    """Reads."""
    CUSTOM = "custom"
    """The permissions it was made with."""


ALL = frozenset(Permission)
_READ = frozenset({Permission.READ})
_WORK = _READ | {Permission.RUN, Permission.STOP}

OF_ROLE: Mapping[Role, frozenset[Permission]] = MappingProxyType(
    {Role.VIEWER: _READ, Role.DEVELOPER: _WORK, Role.ADMIN: ALL}
)
"""Role -> what it may do."""

OF_KIND: Mapping[KeyKind, frozenset[Permission]] = MappingProxyType(
    {KeyKind.AUTOMATION: _WORK, KeyKind.READ_ONLY: _READ}
)
"""Kind of key -> what it may do; a custom key names its own."""


def permissions(names: Collection[str]) -> frozenset[Permission]:
    """The permissions of these names. InvalidRequest for one that is not known."""
    known = {str(one) for one in Permission}
    for name in names:
        if name not in known:
            raise InvalidRequest(f"permission {name!r} is not known", then=f"Known: {', '.join(sorted(known))}")
    return frozenset(Permission(name) for name in names)
