from __future__ import annotations

import json

from click.testing import CliRunner, Result

from everloop.cli.main import el


def call(*arguments: str) -> Result:
    return CliRunner().invoke(el, arguments)


def test_a_project_is_made_and_listed_after_the_first() -> None:
    assert call("project", "create", "team:a", "--name", "Team A").stdout == "Made project team:a in workspace local.\n"
    assert call("project", "list").stdout.splitlines() == ["local\tlocal\tLocal", "team:a\tlocal\tTeam A"]


def test_a_workspace_that_is_not_there_is_made() -> None:
    for project in ("a", "b"):
        made = json.loads(call("project", "create", project, "--workspace", "acme", "--json").stdout)
        assert (made["project_id"], made["workspace_id"], made["name"]) == (project, "acme", project)
    listed = json.loads(call("project", "list", "--json").stdout)["projects"]
    assert [one["workspace_id"] for one in listed] == ["local", "acme", "acme"]


def test_an_id_that_cannot_be_or_is_taken_is_refused_and_recorded() -> None:
    wrong = call("project", "create", "a b", "--workspace", "acme")
    assert wrong.exit_code == 1 and wrong.stderr.startswith("INVALID_RSI_REQUEST: ")
    taken = call("project", "create", "local")
    assert taken.exit_code == 4 and taken.stderr.startswith("CONFLICT: ")
    rows = json.loads(call("audit", "--json").stdout)["items"]
    assert [(row["action"], row["target"], row["status"]) for row in rows] == [
        ("project.create", "local", 409),
        ("project.create", "a b", 422),
    ]
