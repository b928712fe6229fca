"""``el approve``: the same answers from this machine and from a server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from remote_server import RealServer

from everloop.cli.main import el
from everloop.service import audit, keys, runs, samples
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation, open_installation
from everloop.service.keys import KeyRequest
from everloop.service.permissions import KeyKind
from everloop.store import approvals as stored
from everloop.store import candidates

sys.path.append(str(Path(__file__).parents[1] / "service"))

from approvals_world import recorded, waiting


@pytest.fixture
def place() -> Installation:
    opened = open_installation()
    yield opened
    opened.close()


def call(*arguments: str, environment: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(el, ["approve", *arguments], env=environment)


def rejected(place: Installation, run: str = "s") -> None:
    recorded(place, run)
    proposal = {"plan": {}, "diff": "", "rationale": {"what": "more \x1b[31mrows"}, "interventions": []}
    with place.database.write() as tx:
        candidates.put(tx, run, "r1c1", round=1, proposal=proposal, fingerprint="1")
        candidates.update(tx, run, "r1c1", decision="rejected", reasons=["gate: no"])


def this_week(place: Installation) -> str:
    return str(samples.Week.of(samples.utcnow()))


def test_what_waits_is_listed_decided_once_and_in_the_audit_log(place: Installation) -> None:
    assert "Nothing waits" in call("list").stderr
    approval = waiting(place)
    listed = call("list")
    assert f"{approval}  pending" in listed.stdout and "r1c1 of r, round 1: certify it against v0?" in listed.stdout
    decided = call("decide", approval, "--reject", "--reason", "it parrots")
    assert (decided.exit_code, decided.stdout) == (0, f"{approval} is rejected: r1c1 of r\n")
    assert runs.document(place, "r", compact=True)["state"] == "running"
    again = call("decide", approval, "--approve")
    assert (again.exit_code, again.stdout) == (4, "") and "CONFLICT: " in again.stderr
    assert "by local at" in call("list", "--state", "all").stdout
    rows = audit.pages(place, LOCAL).items
    assert [(one["action"], one["target"], one["status"]) for one in rows] == [
        ("approval.approve", approval, 409),
        ("approval.reject", approval, 200),
    ]


@pytest.mark.parametrize(
    "arguments",
    [("decide", "apr-1"), ("decide", "apr-1", "--reject"), ("judge", "r", "r1c1"), ("list", "--state", "x")],
)
def test_a_half_said_command_is_a_wrong_command(arguments: tuple[str, ...]) -> None:
    assert call(*arguments).exit_code == 2


def test_an_approval_that_is_not_there_ends_with_three() -> None:
    done = call("decide", "apr-" + "0" * 20, "--approve")
    assert done.exit_code == 3 and "NOT_FOUND" in done.stderr


def test_a_sample_is_shown_without_control_characters_and_judged(place: Installation) -> None:
    rejected(place)
    week = this_week(place)
    shown = call("sample", "--week", week)
    assert shown.stdout.startswith(f"{week}: 1 of 1 rejected so far, 0 of them judged\ns r1c1  rejected  not judged\n")
    assert "\x1b" not in shown.stdout and "gate: no" in shown.stdout
    assert call("judge", "s", "r1c1", "--good", "--reason", "it fits").stdout == "r1c1 of s is judged good by local\n"
    document = json.loads(call("sample", "--week", week, "--json").stdout)
    assert document["judged"] == 1 and document["items"][0]["label"]["reason"] == "it fits"
    assert call("sample", "--week", week, "--project", "other").stdout.startswith(f"{week}: 0 of 0")


def test_at_a_server_the_same_is_said_and_done(own_server: RealServer) -> None:
    request = KeyRequest(kind=KeyKind.CUSTOM, permissions=("read", "training.approve"))
    key = keys.create_key(own_server.installation, request, LOCAL)[0]
    environment = own_server.environment(key)
    approval = waiting(own_server.installation)
    rejected(own_server.installation)
    week = this_week(own_server.installation)
    listed = json.loads(call("list", "--remote", "--json", environment=environment).stdout)
    assert [one["approval_id"] for one in listed["items"]] == [approval]
    decided = call("decide", approval, "--approve", "--remote", "--json", environment=environment)
    assert json.loads(decided.stdout)["decided_by"].startswith("key:")
    assert call("decide", approval, "--approve", "--remote", environment=environment).exit_code == 4
    judged = call("judge", "s", "r1c1", "--bad", "--remote", environment=environment)
    assert judged.stdout.startswith("r1c1 of s is judged bad by key:")
    shown = call("sample", "--week", week, "--remote", environment=environment)
    assert "1 of them judged" in shown.stdout
    with own_server.installation.database.read() as tx:
        found = stored.get(tx, approval)
    assert found is not None and found.state == "approved"
