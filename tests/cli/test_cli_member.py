from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from everloop.cli.main import el
from everloop.errors import Unauthorized
from everloop.service import access, sessions
from everloop.service.installation import open_installation

GOOD = "correct horse battery"


def call(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(el, arguments, input=given)


def members(*more: str) -> dict[str, str]:
    listed = json.loads(call("member", "list", *more, "--json").stdout)["members"]
    return {one["email"] or one["user_id"]: one["role"] for one in listed}


def signs_in(password: str, email: str = "ada@example.org") -> bool:
    installation = open_installation()
    try:
        return bool(sessions.sign_in(installation, email, password))
    except Unauthorized:
        return False
    finally:
        installation.close()


def test_a_new_person_becomes_a_member_and_signs_in_with_the_password() -> None:
    result = call("member", "add", "Ada@example.org", "--role", "developer", "--password-stdin", given=f"{GOOD}\n")
    assert result.stdout == "ada@example.org is developer of local.\n" and GOOD not in result.output
    assert members() == {"owner": "admin", "ada@example.org": "developer"}
    assert signs_in(GOOD) and not signs_in("another password")


def test_a_member_gets_another_role_and_another_project() -> None:
    call("member", "add", "ada@example.org", "--role", "developer", "--name", "Ada")
    call("project", "create", "team:a")
    for more in (("--role", "viewer"), ("--role", "admin", "--project", "team:a")):
        assert call("member", "add", "ada@example.org", *more).exit_code == 0
    assert members()["ada@example.org"] == "viewer"
    assert members("--project", "team:a") == {"ada@example.org": "admin"}
    assert "viewer\tactive\tada@example.org\tAda\n" in call("member", "list").stdout


@pytest.mark.parametrize("more", [("--name", "Ada"), ("--password-stdin",)])
def test_a_person_who_is_there_already_is_not_made_again(more: tuple[str, ...]) -> None:
    assert call("member", "add", "owner", "--role", "viewer", *more, given=GOOD).exit_code == 2
    assert members() == {"owner": "admin"}


def test_a_password_that_is_too_short_makes_nobody() -> None:
    result = call("member", "add", "ada@example.org", "--role", "viewer", "--password-stdin", given="short\n")
    assert result.exit_code == 1 and members() == {"owner": "admin"}


def test_a_new_password_takes_the_place_of_the_old_one() -> None:
    call("member", "add", "ada@example.org", "--role", "viewer", "--password-stdin", given=GOOD)
    assert call("member", "password", "ada@example.org", given="another password\n").exit_code == 0
    assert signs_in("another password") and not signs_in(GOOD)


def test_a_link_signs_its_person_in_once() -> None:
    told = json.loads(call("member", "link", "owner", "--minutes", "5", "--json").stdout)
    path, _, token = told["link"].partition("?token=")
    installation = open_installation()
    session = sessions.use_link(installation, token)
    caller = access.authenticate_session(installation, session)
    installation.close()
    assert (path, told["user_id"], caller.subject) == ("/sign-in/link", "owner", "user:owner")


def test_a_link_names_the_public_address_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERLOOP_PUBLIC_URL", "https://loops.example.org/el/")
    told = call("member", "link", "owner").stdout
    assert told.startswith("https://loops.example.org/el/sign-in/link?token=ell_")
    assert told.strip().split("_", 2)[2] not in call("audit").stdout


def test_a_member_is_removed() -> None:
    call("member", "add", "ada@example.org", "--role", "viewer")
    assert call("member", "remove", "ada@example.org").stdout == "ada@example.org is no member of local.\n"
    assert json.loads(call("member", "remove", "ada@example.org", "--json").stdout)["removed"] is True
    assert members() == {"owner": "admin"}


def test_a_person_is_disabled_and_enabled() -> None:
    call("member", "add", "ada@example.org", "--role", "viewer", "--password-stdin", given=GOOD)
    assert json.loads(call("member", "disable", "ada@example.org", "--json").stdout)["disabled_at"]
    assert not signs_in(GOOD) and "disabled" in call("member", "list").stdout
    assert call("member", "enable", "ada@example.org").stdout == "ada@example.org may sign in.\n"
    assert signs_in(GOOD)


@pytest.mark.parametrize("command", ["remove", "password", "link", "disable", "enable"])
def test_somebody_who_is_not_known_is_refused_and_the_refusal_recorded(command: str) -> None:
    result = call("member", command, "nobody@example.org", given=GOOD)
    assert result.exit_code == 3 and result.stderr.startswith("NOT_FOUND: ")
    (row,) = json.loads(call("audit", "--json").stdout)["items"]
    assert (row["action"], row["target"], row["code"]) == (f"member.{command}", "nobody@example.org", "NOT_FOUND")


@pytest.mark.parametrize(
    "words",
    ["remove ada@example.org --project b", "disable ada@example.org", "add ada@example.org --role viewer --project b"],
)
def test_the_end_of_the_last_admin_is_told_with_what_to_do(words: str) -> None:
    call("project", "create", "b")
    call("member", "add", "ada@example.org", "--role", "admin", "--project", "b")
    call("member", "add", "ada@example.org", "--role", "admin")
    result = call("member", *words.split())
    assert result.exit_code == 0
    first, then = result.stderr.splitlines()
    assert first.startswith("Project b has no Admin now: ")
    assert then == "Make somebody one: el member add EMAIL --role admin --project b"


def test_where_another_admin_remains_nothing_is_told() -> None:
    call("member", "add", "ada@example.org", "--role", "admin")
    assert call("member", "disable", "ada@example.org").stderr == ""
    assert call("member", "remove", "ada@example.org").stderr == ""


def test_a_change_is_in_the_log_of_its_project() -> None:
    call("project", "create", "team:a", "--workspace", "acme")
    call("member", "add", "ada@example.org", "--role", "viewer", "--project", "team:a")
    rows = json.loads(call("audit", "--project", "team:a", "--json").stdout)["items"]
    assert [(row["action"], row["workspace_id"]) for row in rows] == [
        ("member.add", "acme"),
        ("project.create", "acme"),
    ]
