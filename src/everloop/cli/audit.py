"""``el audit``: who did or was refused what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from everloop.cli.acting import JSON, opened
from everloop.cli.fields import word

if TYPE_CHECKING:
    from everloop.events import JsonValue


@click.command()
@click.option("--project", metavar="ID", help="Project; default: all, and what was done by nobody known.")
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True, help="Rows.")
@click.option("--cursor", help="Where an earlier page ended: its `next_cursor`.")
@JSON
def audit(project: str | None, limit: int, cursor: str | None, as_json: bool) -> None:
    """Show the audit log, newest first: who did or was refused what."""
    from everloop.service.audit import pages
    from everloop.service.caller import LOCAL

    with opened() as installation:
        page = pages(installation, LOCAL, limit, cursor, project)
    if as_json:
        click.echo(json.dumps(page.to_json()))
        return
    for row in page.items:
        click.echo(_line(row))


def _line(row: Mapping[str, JsonValue]) -> str:
    fields = ("at", "project_id", "subject", "surface", "action", "target", "status", "code", "address")
    return "  ".join(word(row[name]) for name in fields)
