"""``el member``: people, and what they are in a project."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from everloop.cli import remote, table
from everloop.cli.acting import JSON, PROJECT, acting, looking, show

if TYPE_CHECKING:
    from everloop.cli.acting import Act
    from everloop.events import Json, JsonValue
    from everloop.store.users import UserRow

ROLES = ("viewer", "developer", "admin")
LOCAL_PROJECT = "local"
"""`everloop.service.caller.PROJECT`; repeated, as the help of a command loads nothing heavy."""
_WHO = click.argument("who", metavar="WHO")


@click.group()
def member() -> None:
    """Let people sign in, and say what they may do in a project.

    WHO is an e-mail address or a user id, such as owner.
    """


@member.command()
@click.argument("email")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What the person is in the project.")
@PROJECT
@click.option("--name", default="", help="What a new person is called; default: the e-mail address.")
@click.option("--password-stdin", is_flag=True, help="Read a new person's password from standard input, or ask.")
@JSON
def add(email: str, role: str, project: str | None, name: str, password_stdin: bool, as_json: bool) -> None:
    """Make a person a member of a project, or give a member another role.

    A person who is not known yet is made; without a password, `el member link` or single sign-on signs them in.
    """
    from everloop.service import people

    password = _password() if password_stdin else None
    with acting("member.add", email, project or LOCAL_PROJECT) as act:
        user = _known(act, email)
        if user is None:
            user = people.create_user(act.installation, email, name, password, act.caller)
        elif password is not None or name:
            raise click.UsageError("this person is there already: set the password with `el member password`")
        with _admins(act, act.caller.project_id):
            row = people.set_member(act.installation, act.caller.project_id, user.user_id, role, act.caller)
    show(people.member_json(row), as_json, f"{row.email or row.user_id} is {row.role} of {row.project_id}.")


@member.command("list")
@PROJECT
@JSON
def list_(project: str | None, as_json: bool) -> None:
    """List the members of a project."""
    from everloop.service import people
    from everloop.service.caller import LOCAL

    with looking(project) as installation:
        rows = people.members(installation, LOCAL, project)
    if as_json:
        remote.document({"members": [people.member_json(row) for row in rows]})
        return
    states = ["disabled" if row.disabled_at else "active" for row in rows]
    told: list[list[JsonValue]] = [
        [row.user_id, row.role, state, row.email, row.name] for row, state in zip(rows, states, strict=True)
    ]
    none = "The project has no member. Make one: el member add EMAIL --role admin"
    table.echo(("USER", "ROLE", "STATE", "EMAIL", "NAME"), told, none)


@member.command()
@_WHO
@PROJECT
@JSON
def remove(who: str, project: str | None, as_json: bool) -> None:
    """End a person's membership and revoke the keys they made in the project."""
    from everloop.service import people

    with acting("member.remove", who, project or LOCAL_PROJECT) as act:
        user = people.find(act.installation, who, act.caller)
        with _admins(act, act.caller.project_id):
            people.remove_member(act.installation, act.caller.project_id, user.user_id, act.caller)
    document: Json = {"user_id": user.user_id, "project_id": act.caller.project_id, "removed": True}
    show(document, as_json, f"{user.email or user.user_id} is no member of {act.caller.project_id}.")


@member.command()
@_WHO
def password(who: str) -> None:
    """Give a person another password, read from standard input or asked for, and sign them out everywhere."""
    from everloop.service import people

    chosen = _password()
    with acting("member.password", who) as act:
        user = people.find(act.installation, who, act.caller)
        people.set_password(act.installation, user.user_id, chosen, act.caller)
    click.echo(f"{user.email or user.user_id} has a new password.")


@member.command()
@_WHO
@click.option("--minutes", type=click.FloatRange(1, 1440), default=10, show_default=True, help="How long it works.")
@JSON
def link(who: str, minutes: float, as_json: bool) -> None:
    """Print the path of a link that signs a person in once."""
    from everloop.service import people, sessions

    with acting("member.link", who) as act:
        user = people.find(act.installation, who, act.caller)
        token = sessions.make_link(act.installation, user.user_id, minutes)
        public = act.installation.settings.public_url.rstrip("/")
    place = f"{public}/sign-in/link?token={token}"
    show({"user_id": user.user_id, "link": place}, as_json, place)


@member.command()
@_WHO
@JSON
def disable(who: str, as_json: bool) -> None:
    """Have a person sign in no more; their sessions end and the keys they made are revoked."""
    from everloop.service import people

    with acting("member.disable", who) as act:
        user = people.find(act.installation, who, act.caller)
        with _admins(act):
            people.disable_user(act.installation, user.user_id, act.caller)
        user = people.find(act.installation, user.user_id, act.caller)
    show(people.user_json(user), as_json, f"{user.email or user.user_id} is disabled.")


@member.command()
@_WHO
@JSON
def enable(who: str, as_json: bool) -> None:
    """Let a disabled person sign in again; keys that were revoked stay so."""
    from everloop.service import people

    with acting("member.enable", who) as act:
        user = people.find(act.installation, who, act.caller)
        people.enable_user(act.installation, user.user_id, act.caller)
        user = people.find(act.installation, user.user_id, act.caller)
    show(people.user_json(user), as_json, f"{user.email or user.user_id} may sign in.")


@contextmanager
def _admins(act: Act, project_id: str | None = None) -> Iterator[None]:
    """Say of each project, or of one, that loses its last Admin in the block that it has none now."""
    before = _managed(act, project_id)
    yield
    for lost in sorted(before - _managed(act, project_id)):
        click.echo(
            f"Project {lost} has no Admin now: nobody can manage its keys and members in the browser.\n"
            f"Make somebody one: el member add EMAIL --role admin --project {lost}",
            err=True,
        )


def _managed(act: Act, project_id: str | None) -> set[str]:
    """The projects, of all or one, that have an Admin who can sign in."""
    from everloop.service import people, projects

    known = [one.project_id for one in projects.listing(act.installation, act.caller)]
    return {
        name
        for name in known
        if project_id in {None, name}
        and any(
            one.role == "admin" and not one.disabled_at for one in people.members(act.installation, act.caller, name)
        )
    }


def _known(act: Act, who: str) -> UserRow | None:
    from everloop.errors import NotFound
    from everloop.service import people

    try:
        return people.find(act.installation, who, act.caller)
    except NotFound:
        return None


def _password() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")
