"""``el key``: API keys of this installation's projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from everloop.cli import remote, table
from everloop.cli.acting import JSON, PROJECT, acting, looking, show

if TYPE_CHECKING:
    from everloop.events import JsonValue
    from everloop.store.api_keys import ApiKeyRow

KINDS = ("automation", "read-only", "custom")
DAYS = click.FloatRange(min=0, min_open=True)
COLUMNS = ("KEY", "STATE", "PROJECT", "MAY", "UNTIL", "USED", "NAME")
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
@click.option("--expires-days", type=DAYS, metavar="DAYS", help="Days after which it is refused; default: never.")
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
        remote.document({"key": made, **key_json(row)})
        return
    click.echo(made)
    click.echo("This key is not shown again.", err=True)
    click.echo("Use it: el auth config set api-key --stdin, or EVERLOOP_API_KEY beside EVERLOOP_BASE_URL.", err=True)


@key.command("list")
@PROJECT
@JSON
def list_(project: str | None, as_json: bool) -> None:
    """List the keys of a project, or of all."""
    from everloop.service.caller import LOCAL
    from everloop.service.keys import key_json, list_keys

    with looking(project) as installation:
        rows = list_keys(installation, LOCAL, project)
    if as_json:
        remote.document({"keys": [key_json(row) for row in rows]})
        return
    table.echo(COLUMNS, [_row(one) for one in rows], "There is no key. Make one: el key create")


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


def _row(row: ApiKeyRow) -> list[JsonValue]:
    from everloop.service.keys import state_of

    may = ", ".join(row.permissions)
    return [row.prefix, state_of(row), row.project_id, may, row.expires_at, row.used_at, row.name]
