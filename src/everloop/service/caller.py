"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass

from everloop.events import JsonValue


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller; its subject is the author of steers and directives."""

    subject: str = "local"
    """Who: ``key:...`` or, on the command line of this machine, ``local``."""
    workspace_id: str = "local"
    """Workspace the caller acts in."""
    project_id: str = "local"
    """Project the caller acts in."""

    def to_json(self) -> dict[str, JsonValue]:
        """The run document's ``owner``."""
        return {"workspace_id": self.workspace_id, "project_id": self.project_id, "subject": self.subject}


LOCAL = Caller()
"""The owner of this machine's account, at its command line."""
