"""``el project``: projects of this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from everloop.cli import remote, table
from everloop.cli.acting import JSON, acting, opened, show

if TYPE_CHECKING:
    from everloop.events import Json
    from everloop.store.projects import ProjectRow


@click.group()
def project() -> None:
    """Make and list projects: what keys, members, runs and jobs belong to."""


@project.command()
@click.argument("project_id", metavar="ID")
@click.option("--workspace", metavar="ID", help="Workspace it is in, made when it is not there; default: local.")
@click.option("--name", default="", help="What people call it; default: its id.")
@JSON
def create(project_id: str, workspace: str | None, name: str, as_json: bool) -> None:
    """Make a project."""
    from everloop.service import projects
    from everloop.service.caller import WORKSPACE

    inside = workspace or WORKSPACE
    with acting("project.create", project_id) as act:
        projects.check_new(project_id, name)  # before a workspace is made for it
        if inside not in {one.workspace_id for one in projects.workspaces(act.installation, act.caller)}:
            projects.create_workspace(act.installation, inside, "", act.caller)
        row = projects.create_project(act.installation, project_id, name, inside, act.caller)
        act.place(row)
    show(_document(row), as_json, f"Made project {row.project_id} in workspace {row.workspace_id}.")


@project.command("list")
@JSON
def list_(as_json: bool) -> None:
    """List the projects, oldest first."""
    from everloop.service import projects
    from everloop.service.caller import LOCAL

    with opened() as installation:
        rows = projects.listing(installation, LOCAL)
    if as_json:
        remote.document({"projects": [_document(row) for row in rows]})
        return
    table.echo(("PROJECT", "WORKSPACE", "NAME"), [[row.project_id, row.workspace_id, row.name] for row in rows])


def _document(row: ProjectRow) -> Json:
    return {
        "project_id": row.project_id,
        "workspace_id": row.workspace_id,
        "name": row.name,
        "created_at": row.created_at,
    }
