"""``el key``: API keys of this installation's projects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from everloop.cli.acting import JSON, PROJECT, acting, opened, show
from everloop.cli.fields import word

if TYPE_CHECKING:
    from everloop.store.api_keys import ApiKeyRow

KINDS = ("automation", "read-only", "custom")
GIVEN = ("read", "training.run", "training.stop", "training.approve")


@click.group()
def key() -> None:
    """Make, list and revoke API keys of projects."""


@key.command()
@PROJECT
@click.option("--name", default="", help="What it is for.")
@click.option("--kind", type=click.Choice(KINDS), default="automation", show_default=True, help="What it may do.")
@click.option(
    "--permission", "permissions", multiple=True, type=click.Choice(GIVEN), help="Of a custom key; may be repeated."
)
@click.option("--expires-days", type=float, metavar="DAYS", help="Days after which it is refused; default: never.")
@JSON
def create(
    project: str | None,
    name: str,
    kind: str,
    permissions: tuple[str, ...],
    expires_days: float | None,
    as_json: bool,
) -> None:
    """Make a key; it is shown this once."""
    from everloop.service.keys import KeyRequest, create_key, key_json
    from everloop.service.permissions import KeyKind

    if bool(permissions) != (kind == "custom"):
        raise click.UsageError("--kind custom and --permission go together")
    request = KeyRequest(name=name, kind=KeyKind(kind), permissions=permissions, expires_days=expires_days)
    with acting("key.create", project_id=project) as act:
        made, row = create_key(act.installation, request, act.caller, project)
        act.target = row.prefix
    if as_json:
        click.echo(json.dumps({"key": made, **key_json(row)}))
        return
    click.echo(made)
    click.echo("This key is not shown again.", err=True)


@key.command("list")
@PROJECT
@JSON
def list_(project: str | None, as_json: bool) -> None:
    """List the keys of a project, or of all."""
    from everloop.service.caller import LOCAL
    from everloop.service.keys import key_json, list_keys

    with opened() as installation:
        rows = list_keys(installation, LOCAL, project)
    if as_json:
        click.echo(json.dumps({"keys": [key_json(row) for row in rows]}))
        return
    if not rows:
        click.echo("There is no key. Make one: el key create")
    for row in rows:
        click.echo(_line(row))


@key.command()
@click.argument("prefix")
@JSON
def revoke(prefix: str, as_json: bool) -> None:
    """Refuse a key from its next request on; PREFIX: its public part, or the key."""
    from everloop.service.access import key_prefix
    from everloop.service.keys import key_json, revoke_key

    public = key_prefix(prefix) or prefix
    with acting("key.revoke", public[:16]) as act:  # not more: what was pasted by mistake may be a secret
        row = revoke_key(act.installation, public, act.caller)
        act.place(row)
    show(key_json(row), as_json, f"{row.prefix} is revoked")


def _line(row: ApiKeyRow) -> str:
    from everloop.service.keys import state_of

    used = f"used {row.used_at}" if row.used_at else "never used"
    until = f"until {row.expires_at}" if row.expires_at else "no end"
    parts = [row.prefix, f"{state_of(row):7}", row.project_id, ", ".join(row.permissions), until, used, word(row.name)]
    return "  ".join(parts)
