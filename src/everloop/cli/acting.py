"""Commands that change who may do what: done as this machine's account, each of them in the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from everloop.cli import remote
from everloop.errors import EverloopError

if TYPE_CHECKING:
    from everloop.events import JsonValue
    from everloop.service.caller import Caller
    from everloop.service.installation import Installation
    from everloop.store.api_keys import ApiKeyRow
    from everloop.store.projects import ProjectRow

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
PROJECT = click.option("--project", metavar="ID", help="Project; default: local.")


@dataclass(slots=True)
class Act:
    """One command under way."""

    installation: Installation
    """The installation, with what a first start makes."""
    caller: Caller
    """This machine's account, in the project that the act is of."""
    target: str | None
    """What it is done to, once that is known."""

    def place(self, project: ProjectRow | ApiKeyRow) -> None:
        """Say which project the act is of."""
        self.caller = replace(self.caller, workspace_id=project.workspace_id, project_id=project.project_id)

    def record(self, action: str, status: int, code: str | None) -> None:
        """Add the act to the audit log."""
        from everloop.service import audit

        audit.record(
            self.installation,
            caller=self.caller,
            surface="cli",
            action=action,
            target=self.target,
            status=status,
            code=code,
            request_id=None,
            address=None,
        )


@contextmanager
def opened() -> Iterator[Installation]:
    """The installation, with its first workspace, project and owner; closed at the end."""
    from everloop.cli.configuration import settings
    from everloop.service.first_start import ensure
    from everloop.service.installation import open_installation

    installation = open_installation(settings())
    try:
        ensure(installation)
        yield installation
    finally:
        installation.close()


@contextmanager
def looking(project_id: str | None) -> Iterator[Installation]:
    """The installation, for a list of a project's things or of all. NotFound when there is no such project."""
    from everloop.service.caller import LOCAL
    from everloop.service.projects import get_project

    with opened() as installation:
        if project_id is not None:
            get_project(installation, project_id, LOCAL)
        yield installation


@contextmanager
def acting(action: str, target: str | None = None, project_id: str | None = None) -> Iterator[Act]:
    """A command that changes something; recorded once it is done or refused, in the log of its project."""
    from everloop.service.caller import LOCAL
    from everloop.service.projects import get_project

    with opened() as installation:
        act = Act(installation, LOCAL, target)
        try:
            if project_id is not None:
                act.place(get_project(installation, project_id, LOCAL))
            yield act
        except EverloopError as error:
            act.record(action, error.status, error.code)
            raise
        act.record(action, 200, None)


def show(document: Mapping[str, JsonValue], as_json: bool, told: str) -> None:
    """Print the document, or what is told of it."""
    remote.document(document) if as_json else click.echo(told)
