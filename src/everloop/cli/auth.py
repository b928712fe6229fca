"""``el auth``: which server and key the commands use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from everloop.cli import remote, sentences, table
from everloop.cli.auth_config import config
from everloop.cli.remote import JSON, RemoteGroup

if TYPE_CHECKING:
    from everloop.client import Connection
    from everloop.events import Json

_TIMEOUT = click.FloatRange(1, 600)


@click.group(cls=RemoteGroup)
def auth() -> None:
    """Sign in to a server, and look at the connection in force."""


auth.add_command(config)


@auth.command()
@click.option("--check", is_flag=True, help="Ask the server who the key belongs to.")
@JSON
def status(check: bool, as_json: bool) -> None:
    """Show the connection in force and where each part of it comes from."""
    from everloop.client import RemoteError, resolve

    found = resolve()
    told = _connection(found)
    failed: RemoteError | None = None
    if check:
        try:
            told |= _checked(found)
        except RemoteError as error:
            failed, told["check"] = error, _WORDS.get(error.http or 0, "unreachable")
    remote.document(told) if as_json else table.facts(told)
    if failed is not None:
        click.echo(sentences.told(failed.code, failed.http), err=True)
        click.get_current_context().exit(sentences.FAILURE)


_WORDS = {401: "authentication_rejected", 403: "authorization_denied"}


def _connection(found: Connection) -> Json:
    return {
        "base_url": found.base_url,
        "base_url_from": found.url_from,
        "api_key": shown(found.api_key),
        "api_key_from": found.key_from,
        "workspace_id": found.workspace_id,
        "project_id": found.project_id,
    }


def shown(key: str | None) -> str | None:
    """The part of a key that may be seen: its mark and, where it has one, its public prefix."""
    if key is None:
        return None
    mark, line, rest = key.partition("_")
    prefix, inner, _ = rest.partition("_")
    return f"{mark}_{prefix}_..." if line and inner and len(prefix) <= 16 else f"{mark}_..." if line else "..."


def _checked(found: Connection) -> Json:
    from everloop.client import Client

    with Client.of(found, timeout=5.0) as client:
        me = client.me()
    told = {"check": "ok" if found.api_key else "reachable_anonymous"}
    return {**told, **table.pick(me, "subject", "auth_method", "permissions"), **_scope(me)}


def _scope(me: Json) -> Json:
    from everloop.fields import part

    workspace, project = part(me, "workspace"), part(me, "project")
    return {"workspace_id": workspace.get("workspace_id"), "project_id": project.get("project_id")}


@auth.command()
@click.option("--base-url", help="Server; default: the one in force.")
@click.option("--browser/--no-browser", default=None, help="Open the page; default: on a terminal.")
@click.option("--timeout", type=_TIMEOUT, default=300, show_default=True, help="Seconds to wait for you.")
def login(base_url: str | None, browser: bool | None, timeout: float) -> None:
    """Get a key by signing in with a browser, and save it.

    It prints an address and a code: open the one, enter the other, and let this command line in. The key is made here
    and works for 30 days.
    """
    from everloop.cli.auth_login import login as sign_in

    sign_in(base_url, browser, timeout)


@auth.command()
def logout() -> None:
    """Forget the saved key; at the server it goes on until it is revoked or expires."""
    from everloop.client import saved

    click.echo("The saved key is forgotten." if saved.forget_key() else "No key was saved.")
