from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from everloop.cli.gateway import gateway
from everloop.gateway.base import ModelEntry, Use
from everloop.gateway.entries import document_of
from everloop.service.installation import open_installation
from everloop.store import models


@pytest.fixture(autouse=True)
def configured() -> None:
    entry = ModelEntry(name="small", provider="openai", model="m", uses=(Use.CANDIDATE,))
    installation = open_installation()
    with installation.database.write() as tx:
        models.put(tx, entry.name, document_of(entry))
    installation.close()


def call(*arguments: str) -> Result:
    return CliRunner().invoke(gateway, arguments)


def document(*arguments: str) -> dict[str, object]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def test_a_key_is_made_listed_and_revoked() -> None:
    made = document("key", "create", "--usd-cap", "2", "--request-cap", "5", "--model", "small", "--name", "ci")
    assert str(made["key"]).startswith(f"elg_{made['prefix']}_")
    (listed,) = document("key", "list")["keys"]
    assert listed == {name: value for name, value in made.items() if name != "key"}
    assert (listed["usd_cap"], listed["request_cap"], listed["name"]) == (2.0, 5, "ci")
    assert document("key", "revoke", str(made["prefix"]))["state"] == "revoked"


def test_a_new_key_is_all_that_goes_to_standard_output() -> None:
    result = call("key", "create", "--usd-cap", "2", "--expires-days", "1")
    assert result.stdout.startswith("elg_") and len(result.stdout.split()) == 1
    assert "not shown again" in result.stderr


def test_the_list_never_shows_a_key() -> None:
    key = call("key", "create", "--usd-cap", "2").stdout.strip()
    told = call("key", "list").stdout
    assert "\t0 of 2 USD\t0 of —\t" in told
    assert key.split("_", 2)[2] not in told


@pytest.mark.parametrize("arguments", [(), ("--usd-cap", "1", "--run", "r")])
def test_a_key_needs_a_cap_or_a_run(arguments: tuple[str, ...]) -> None:
    result = call("key", "create", *arguments)
    assert result.exit_code == 2 and "--usd-cap or --run" in result.stderr


@pytest.mark.parametrize("arguments", [(), ("--socket", "s", "--port", "1")])
def test_serving_needs_one_place(arguments: tuple[str, ...]) -> None:
    result = call("serve", *arguments)
    assert result.exit_code == 2 and "--socket or --port" in result.stderr


def test_a_place_that_is_taken_by_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("kept")
    result = call("serve", "--socket", str(path))
    assert result.exit_code == 1 and path.read_text() == "kept"
