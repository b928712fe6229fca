"""``el gateway``: an OpenAI-compatible endpoint of this installation, and its keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everloop.cli import remote, table
from everloop.cli.key import DAYS

if TYPE_CHECKING:
    from everloop.events import JsonValue
    from everloop.service.gateway import KeyState
    from everloop.service.installation import Installation

FILE = click.Path(path_type=Path, dir_okay=False)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group()
def gateway() -> None:
    """Serve models to candidates and programs, within caps."""


@gateway.command()
@click.option("--socket", type=FILE, help="Unix socket to listen on; mode 0600.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port on 127.0.0.1 to listen on; 0: a free one.")
@click.option("--ready-file", type=FILE, help="File that says where to connect, once requests are answered.")
def serve(socket: Path | None, port: int | None, ready_file: Path | None) -> None:
    """Serve the OpenAI-compatible endpoint in the foreground.

    Ctrl-C (or SIGTERM) ends it; requests under way get ten seconds.
    """
    from everloop.service.gateway import serve as serve_gateway

    if (socket is None) == (port is None):
        raise click.UsageError("give --socket or --port, not both")
    with _installation() as installation:
        told = lambda place: click.echo(f"Serving on {place}", err=True)  # noqa: E731 - one line
        serve_gateway(installation, socket=socket, port=port, ready_file=ready_file, told=told)


@gateway.group()
def key() -> None:
    """Make, list and revoke keys of the served gateway."""


@key.command()
@click.option("--usd-cap", type=float, help="US dollars the key may spend; required without --run.")
@click.option("--request-cap", type=int, help="Requests the key may make.")
@click.option(
    "--model", "models", multiple=True, help="Model it may use; may be repeated. Default: all for candidates."
)
@click.option("--expires-days", type=DAYS, help="Days after which it is refused.")
@click.option("--name", default="", help="What it is for.")
@click.option("--run", help="Run whose account and caps pay, in place of caps of its own.")
@_JSON
def create(
    usd_cap: float | None,
    request_cap: int | None,
    models: tuple[str, ...],
    expires_days: float | None,
    name: str,
    run: str | None,
    as_json: bool,
) -> None:
    """Make a key; it is shown this once."""
    from everloop.service.gateway import KeyRequest, create_key

    if (usd_cap is None) == (run is None):
        raise click.UsageError("give --usd-cap or --run, not both")
    wanted = KeyRequest(
        name=name, usd_cap=usd_cap, request_cap=request_cap, models=models, expires_days=expires_days, run=run
    )
    with _installation() as installation:
        made, state = create_key(installation, wanted)
    if as_json:
        remote.document({"key": made, **state.to_json()})
        return
    click.echo(made)
    click.echo("This key is not shown again.", err=True)


@key.command("list")
@_JSON
def list_(as_json: bool) -> None:
    """List keys with what they have spent."""
    from everloop.service.gateway import list_keys

    with _installation() as installation:
        states = list_keys(installation)
    if as_json:
        remote.document({"keys": [state.to_json() for state in states]})
        return
    columns = ("KEY", "STATE", "SPENT", "REQUESTS", "USES", "NAME")
    table.echo(columns, [_row(state) for state in states], "There is no key. Make one: el gateway key create")


@key.command()
@click.argument("prefix")
@_JSON
def revoke(prefix: str, as_json: bool) -> None:
    """Refuse a key from its next request on."""
    from everloop.service.gateway import revoke_key

    with _installation() as installation:
        state = revoke_key(installation, prefix)
    remote.document(state.to_json()) if as_json else click.echo(f"{state.row.prefix} is revoked")


@contextmanager
def _installation() -> Iterator[Installation]:
    from everloop.cli.configuration import settings
    from everloop.service.installation import open_installation

    opened = open_installation(settings())
    try:
        yield opened
    finally:
        opened.close()


def _row(state: KeyState) -> list[JsonValue]:
    document = state.to_json()

    def told(name: str) -> str:
        value = document[name]
        return "—" if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)

    spent = f"{told('usd_spent')} of {told('usd_cap')} USD"
    requests = f"{told('requests')} of {told('request_cap')}"
    return [state.row.prefix, state.state, spent, requests, ", ".join(state.row.models), state.row.name]
