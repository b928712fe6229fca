"""``el audit``: who did or was refused what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from everloop.cli import remote
from everloop.cli.acting import JSON, looking

if TYPE_CHECKING:
    from everloop.events import Json, JsonValue


FIELDS = ("at", "project_id", "subject", "surface", "action", "target", "status", "code", "address")


@click.command()
@click.option("--project", metavar="ID", help="Project; default: all, and what was done by nobody known.")
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True, help="Rows.")
@click.option("--cursor", help="Where an earlier page ended: its `next_cursor`.")
@JSON
def audit(project: str | None, limit: int, cursor: str | None, as_json: bool) -> None:
    """Show the audit log, newest first: who did or was refused what."""
    from everloop.service.audit import pages
    from everloop.service.caller import LOCAL

    with looking(project) as installation:
        page = pages(installation, LOCAL, limit, cursor, project)
    remote.page(page.to_json(), as_json, [one.removesuffix("_id").upper() for one in FIELDS], _row, "Nothing was done.")


def _row(row: Json) -> list[JsonValue]:
    return [row.get(name) for name in FIELDS]
