from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from everloop.cli.main import el
from everloop.service import access, audit
from everloop.service.caller import LOCAL
from everloop.service.installation import open_installation
from everloop.service.permissions import OF_KIND, OF_ROLE, Permission

PAGE = Path(__file__).parents[2] / "docs" / "keys-and-roles.md"
BLOCK = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(el, arguments)


def document(*arguments: str) -> dict[str, object]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def recorded() -> list[tuple[object, ...]]:
    installation = open_installation()
    page = audit.pages(installation, LOCAL)
    installation.close()
    return [tuple(row[name] for name in ("surface", "action", "target", "status", "code")) for row in page.items]


def test_a_key_is_made_works_is_listed_and_revoked() -> None:
    made = document("key", "create", "--name", "ci", "--expires-days", "2")
    assert str(made["key"]).startswith(f"elk_{made['prefix']}_")
    assert (made["kind"], made["state"], made["project_id"]) == ("automation", "active", "local")
    installation = open_installation()
    assert access.authenticate(installation, str(made["key"])).project_id == "local"
    installation.close()
    (listed,) = document("key", "list")["keys"]
    assert {**listed, "used_at": None} == {name: value for name, value in made.items() if name != "key"}
    assert document("key", "revoke", str(made["key"]))["state"] == "revoked"
    assert call("key", "revoke", str(made["prefix"])).stdout == f"{made['prefix']} is revoked\n"


def test_a_new_key_is_all_that_goes_to_standard_output() -> None:
    result = call("key", "create")
    assert result.stdout.startswith("elk_") and len(result.stdout.split()) == 1
    assert "not shown again" in result.stderr


def test_the_list_never_shows_a_key() -> None:
    assert "There is no key" in call("key", "list").stderr
    key = call("key", "create", "--name", "nightly", "--kind", "read-only", "--expires-days", "1").stdout.strip()
    told = call("key", "list").stdout
    prefix, state, project, may, until, used, name = told.rstrip("\n").split("\t")
    assert (prefix, state, project, may, used, name) == (key.split("_")[1], "active", "local", "read", "—", "nightly")
    assert until.endswith("Z") and key.split("_", 2)[2] not in told


def test_a_custom_key_may_do_what_it_names() -> None:
    made = document("key", "create", "--kind", "custom", "--permission", "read", "--permission", "training.approve")
    assert made["permissions"] == ["read", "training.approve"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kind", "custom"),
        ("--permission", "read"),
        ("--kind", "king"),
        ("--kind", "custom", "--permission", "project.manage"),
        ("--expires-days", "0"),
        ("--expires-days", "-1"),
    ],
)
def test_options_that_do_not_fit_are_a_usage_error(arguments: tuple[str, ...]) -> None:
    assert call("key", "create", *arguments).exit_code == 2


def test_a_key_may_be_of_another_project() -> None:
    call("project", "create", "team:a", "--workspace", "acme")
    made = document("key", "create", "--project", "team:a")
    assert (made["workspace_id"], made["project_id"]) == ("acme", "team:a")
    assert [len(document("key", "list", *more)["keys"]) for more in ((), ("--project", "local"))] == [1, 0]


@pytest.mark.parametrize(
    "words",
    [
        "key create --project none",
        "key list --project none",
        "key revoke none",
        "member list --project none",
        "member add ada@example.org --role viewer --project none",
        "audit --project none",
    ],
)
def test_what_is_not_there_is_one_line_and_exit_code_3(words: str) -> None:
    result = call(*words.split())
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("NOT_FOUND: ") and len(result.stderr.splitlines()) == 1


def test_each_change_and_each_refusal_is_in_the_audit_log() -> None:
    made = document("key", "create")
    prefix = made["prefix"]
    call("key", "revoke", str(made["key"]))
    call("key", "create", "--expires-days", "99999")
    assert recorded() == [
        ("cli", "key.create", None, 422, "INVALID_RSI_REQUEST"),
        ("cli", "key.revoke", prefix, 200, None),
        ("cli", "key.create", prefix, 200, None),
    ]


def test_a_secret_pasted_by_mistake_is_not_in_the_audit_log() -> None:
    call("key", "revoke", "elg_0123456789ab_SECRETSECRETSECRET")
    assert "SECRET" not in str(recorded())


def test_the_audit_log_is_shown_in_pages() -> None:
    for _ in range(3):
        call("key", "create")
    page = document("audit", "--limit", "2", "--project", "local")
    rest = document("audit", "--cursor", str(page["next_cursor"]))
    assert [len(list(one["items"])) for one in (page, rest)] == [2, 1]  # type: ignore[call-overload] - a list
    lines = call("audit").stdout.splitlines()
    assert len(lines) == 3 and all("key.create" in line and "\t200\t" in line for line in lines)


def test_every_command_of_the_page_works_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")) for line in block.splitlines()]
    assert len(lines) > 10
    prefix = ""
    for line in lines:
        command, _, file = line.replace("PREFIX", prefix).partition(" < ")
        program, *arguments = shlex.split(command)
        result = CliRunner().invoke(el, arguments, input="correct horse battery\n" if file else None)
        assert (program, result.exit_code) == ("el", 0), f"{line}: {result.output}"
        if result.stdout.startswith("elk_"):
            prefix = result.stdout.split("_")[1]


def test_the_tables_of_the_page_are_the_permissions_in_force() -> None:
    page = PAGE.read_text(encoding="utf-8")
    allowed: dict[str, set[str]] = {}
    for kind, name, cells in re.findall(r"^\| (role|key) `([\w-]+)` \|(.*)\|$", page, re.MULTILINE):
        found = [cell.strip() == "yes" for cell in cells.split("|")]
        allowed[f"{kind} {name}"] = {str(one) for one, yes in zip(Permission, found, strict=True) if yes}
    of_role = {f"role {role}": set(map(str, may)) for role, may in OF_ROLE.items()}
    of_kind = {f"key {kind}": set(map(str, may)) for kind, may in OF_KIND.items()}
    assert allowed == {**of_role, **of_kind, "key custom": set()}
    assert list(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE)) == [str(one) for one in Permission]
