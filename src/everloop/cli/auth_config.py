"""``el auth config``: what is saved; nothing is saved before the server confirmed a key."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from everloop.cli import remote, sentences, table
from everloop.cli.remote import JSON, Ended
from everloop.errors import InvalidRequest
from everloop.fields import part

if TYPE_CHECKING:
    from everloop.client.saved import Saved
    from everloop.events import Json

FIELDS = ("base-url", "api-key", "workspace", "project")


@click.group(invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Save a server and a key: asks for both on a terminal."""
    if ctx.invoked_subcommand is None:
        _wizard()


@config.command("set")
@click.argument("field", type=click.Choice(FIELDS))
@click.argument("value", required=False)
@click.option("--stdin", is_flag=True, help="Read the value from standard input; a key is never an argument.")
@click.option("--no-check", is_flag=True, help="Save a key without asking the server about it.")
def set_(field: str, value: str | None, stdin: bool, no_check: bool) -> None:
    """Save one field: base-url, api-key, workspace or project.

    A key belongs to the base URL saved before it and is sent to no other.
    """
    from dataclasses import replace

    from everloop.client import address, saved

    if field == "api-key":
        _set_key(value, stdin, no_check)
        return
    text = _value(field, value, stdin)
    was = saved.read()
    if field == "base-url":
        url = address.base_url(text)
        kept = was.base_url == url
        # ids belong to the server they were saved for
        saved.write(replace(was, base_url=url) if kept else _moved(was, url))
    elif field == "workspace":
        saved.write(replace(was, workspace_id=address.workspace_id(text)))
    else:
        saved.write(replace(was, project_id=address.project_id(text)))
    click.echo(f"Saved {field}.")


@config.command()
@JSON
def show(as_json: bool) -> None:
    """Show what is saved, where, and without the key."""
    from everloop.cli.auth import shown
    from everloop.client import saved

    found = saved.read()
    told: Json = {
        "folder": str(saved.folder()),
        "base_url": found.base_url,
        "workspace_id": found.workspace_id,
        "project_id": found.project_id,
        "api_key": shown(found.api_key),
    }
    remote.document(told) if as_json else table.facts(told)


@config.command()
@click.argument("field", type=click.Choice(FIELDS))
def unset(field: str) -> None:
    """Forget one field; a forgotten key goes on at the server."""
    from dataclasses import replace

    from everloop.client import saved

    names = {"base-url": "base_url", "workspace": "workspace_id", "project": "project_id", "api-key": "api_key"}
    was = saved.read()
    if getattr(was, names[field]) is None:
        click.echo(f"No {field} is saved.", err=True)
        return
    if field == "api-key":
        saved.forget_key()
    else:
        saved.write(replace(was, **{names[field]: None}))
    click.echo(f"Forgot {field}.")


def _moved(was: Saved, url: str) -> Saved:
    from everloop.client.saved import Saved

    if was.api_key:
        click.echo("The saved key was for another base URL and is forgotten.", err=True)
    return Saved(base_url=url)


def _value(field: str, value: str | None, stdin: bool) -> str:
    if (value is None) != stdin:
        raise click.UsageError(f"give {field} or --stdin, one of them")
    return sys.stdin.readline().strip() if value is None else value


def _set_key(value: str | None, stdin: bool, no_check: bool) -> None:
    from everloop.client import address, saved

    if value is not None:
        raise click.UsageError("a key is never an argument: others can read those. Use --stdin")
    if not stdin and not sys.stdin.isatty():
        raise click.UsageError("give --stdin where there is no terminal to ask on")
    url = saved.read().base_url
    if url is None:
        raise InvalidRequest("no base URL is saved", then="Save it first: el auth config set base-url URL")
    text = sys.stdin.readline() if stdin else str(click.prompt("API key", hide_input=True, err=True))
    key = address.api_key(text.strip())
    if no_check:
        save_key(url, key, None)
        click.echo("Saved api-key, unchecked.")
        return
    _tell(save_key(url, key, {}))


def _wizard() -> None:
    from everloop.client import address, saved

    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on. Use `el auth config set`")
    was = saved.read().base_url
    url = address.base_url(str(click.prompt("Base URL", default=was, err=True)))
    key = address.api_key(str(click.prompt("API key", hide_input=True, err=True)).strip())
    _tell(save_key(url, key, {}))


def _tell(me: Json) -> None:
    project = part(me, "project").get("project_id")
    click.echo(f"Saved. The key belongs to project {table.plain(str(project))}.")


def save_key(url: str, key: str, scope: Json | None) -> Json:
    """Save a key and the scope the server says it has; returns the server's answer.

    `scope` names what the answer must agree with; None: the server is not asked. Nothing is saved when it does not
    confirm the key.
    """
    from everloop.client import saved

    me = {} if scope is None else _confirmed(url, key, scope)
    workspace, project = part(me, "workspace").get("workspace_id"), part(me, "project").get("project_id")
    texts = [one if isinstance(one, str) else None for one in (workspace, project)]
    saved.write(saved.Saved(base_url=url, workspace_id=texts[0], project_id=texts[1], api_key=key, key_url=url))
    return me


def _confirmed(url: str, key: str, scope: Json) -> Json:
    """What ``/v1/me`` says of the key."""
    from everloop.client import Client, Connection

    with Client.of(Connection(url, key), timeout=5.0) as client:
        me = client.me()
    told = {
        "workspace_id": part(me, "workspace").get("workspace_id"),
        "project_id": part(me, "project").get("project_id"),
    }
    agreed = all(told[name] == scope[name] for name in told if name in scope)
    if me.get("auth_method") != "api_key" or not agreed:
        raise Ended(sentences.told("AUTH_CHECK_UNCONFIRMED", None))
    return me
