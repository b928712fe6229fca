"""A person's word under a soft verifier: the run waits for it, and certifies or reverts exactly what was measured."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import dry
import pytest
from harness import carry, environment, events, finish, installation, log_of, request, state, wait_for, worker
from scripted import Reply, Request, ScriptedServer
from torture import Torture

from everloop.errors import Conflict
from everloop.guard import snapshots
from everloop.paths import Home
from everloop.service import approvals, run_control, run_start, runs
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation
from everloop.store import approvals as stored
from everloop.store import itemsets, phases

RUN = "t-1"


def soft(run: str = RUN, **changes: Any) -> Any:
    options = {"trainer": "synthetic"} | changes.pop("options", {})
    return request(run, **({"domain": "soft", "options": options} | changes))


def asked(place: Installation) -> dict[str, Any]:
    """The one approval that is waited for."""
    (found,) = approvals.listing(place, state="pending").items
    return found


def say(place: Installation, decision: str, reason: str | None = None) -> dict[str, Any]:
    return approvals.decide(place, asked(place)["approval_id"], decision, reason)


def approve_all(place: Installation, run: str = RUN, *, most: int = 9) -> dict[str, Any]:
    """Approve whatever is asked until the run has ended."""
    document = runs.document(place, run)
    for _ in range(most):
        if document["state"] != "paused":
            return document
        say(place, "approve")
        document = finish(place, run)
    raise AssertionError(f"{run} asks for more than {most} approvals")


def figures(document: dict[str, Any]) -> list[Any]:
    """What a run decided, on what figures, without its times and names of approvals."""
    varying = ("at", "approval")
    gates = [tuple((key, value) for key, value in one.items() if key not in varying) for one in document["gates"]]
    versions = [(one["version"], one["round"], one["candidate"], one["scores"]) for one in document["versions"]]
    made = [
        (one["candidate"], one["decision"], one["reasons"], one["screen"], one["certification"])
        for number in document["rounds"]
        for one in number["candidates"]
    ]
    claims = [
        (one["claim"], one["candidate"], one["against"], one["alpha"], one["outcome"]) for one in document["claims"]
    ]
    return [gates, versions, made, claims, document["best_version"], document["state"]]


def test_a_version_that_is_shown_waits_for_a_person_and_nothing_is_claimed_meanwhile(tmp_path: Path) -> None:
    place = installation(tmp_path)
    document = carry(place, soft())
    (approval,) = document["approvals"]
    assert (document["state"], document["best_version"]) == ("paused", "v0")
    assert document["error"]["code"] == "APPROVAL_NEEDED"
    assert f"el approve decide {approval['approval_id']}" in document["error"]["message"]
    assert (approval["state"], approval["baseline"], approval["decided_by"]) == ("pending", "v0", None)
    assert approval["evidence"]["evidence"]["log_e"] >= approval["evidence"]["evidence"]["threshold"]
    assert [document["claims"], document["gates"], len(document["versions"])] == [[], [], 1]


def test_approved_throughout_it_decides_what_a_hard_verifier_decides(tmp_path: Path) -> None:
    hard = carry(installation(tmp_path / "hard"), soft(domain="soft-trusted"))
    place = installation(tmp_path / "soft")
    carry(place, soft())
    document = approve_all(place)
    assert document["best_version"] != "v0"
    assert figures(document) == figures(hard)
    assert snapshots.verify(Home(tmp_path / "soft").run(RUN), document["best_version"])
    finals = [one for one in document["gates"] if one["gate"] == "final"]
    assert len(finals) == 1 and "approval" not in finals[0]


def test_the_certification_is_measured_once_however_long_a_person_takes(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, soft(rounds=1))
    with place.database.read() as tx:
        before = itemsets.cursors(tx, RUN, "certify")
        approval = stored.of_run(tx, RUN)[0]
        key = approval.document["key"]
        measured = phases.get(tx, RUN, 1, "certify", key)
    say(place, "approve")
    document = finish(place, RUN)
    with place.database.read() as tx:
        assert itemsets.cursors(tx, RUN, "certify") == before
        assert phases.get(tx, RUN, 1, "certify", key) == measured
    (certification,) = [one for one in document["gates"] if one["gate"] == "certification"]
    assert certification["approval"] == "approved"
    assert {name: certification[name] for name in ("change", "n", "evidence", "families")} == {
        name: approval.document["evidence"][name] for name in ("change", "n", "evidence", "families")
    }


def test_a_rejection_reverts_the_line_and_its_reason_is_on_the_record(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, soft(rounds=1))
    decided = say(place, "reject", "it answers like a parrot")
    document = finish(place, RUN)
    (candidate,) = document["rounds"][0]["candidates"]
    assert (document["state"], document["best_version"], document["working_head"]) == ("finished", "v0", "v0")
    assert candidate["decision"] == "reverted"
    assert candidate["reasons"] == ["approval: rejected by local: it answers like a parrot"]
    (claim,) = document["claims"]
    assert (claim["claim"], claim["outcome"]) == ("certified", "not_shown")
    assert decided["state"] == "rejected" and document["approvals"] == [decided]
    assert any("it answers like a parrot; the working line goes back" in one["text"] for one in events(place, RUN))


def test_what_is_not_shown_asks_nobody(tmp_path: Path) -> None:
    place = installation(tmp_path)
    document = carry(place, soft(options={"operator": "useless"}))
    assert document["state"] == "finished" and document["approvals"] == []


def test_resume_and_extend_while_nothing_is_decided_are_refused_and_say_what_is_waited_for(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, soft())
    approval = asked(place)["approval_id"]
    with pytest.raises(Conflict, match=f"waits for approval {approval}"):
        run_control.resume(place, RUN)
    assert run_control.stop(place, RUN)["state"] == "stopped"
    for action in (lambda: run_control.resume(place, RUN), lambda: run_control.extend(place, RUN, 5)):
        with pytest.raises(Conflict, match=approval):
            action()


def test_a_run_that_was_stopped_meanwhile_stays_stopped_and_takes_the_decision_up_when_resumed(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, soft(rounds=1))
    run_control.stop(place, RUN)
    say(place, "approve")
    assert state(place, RUN) == "stopped"
    run_control.resume(place, RUN)
    document = finish(place, RUN)
    assert (document["state"], document["best_version"]) == ("finished", "v1")


def test_the_run_goes_on_by_itself_under_a_worker_that_waits(tmp_path: Path) -> None:
    place = installation(tmp_path)
    run_start.start(place, soft(rounds=1))
    process = worker(place, drain=False)
    try:
        wait_for(place, RUN, {"paused"})
        say(place, "approve")
        wait_for(place, RUN, {"finished"})
    finally:
        process.kill()
        process.wait()
    assert runs.document(place, RUN)["best_version"] == "v1"


def student(asked: Request) -> Reply:
    """The scripted student, whose wrong answers have the right form."""
    reply = dry.student(asked)
    return replace(reply, text="It is 000007.") if reply.text == "It is 7." else reply


GAIN = {"prompt": {"system": "Say the number. quality=0.55", "template": "What is {task}?"}, "targets": ["prompt"]}
"""A gain that moves the line and is too small to be certified at once: it is certified when the run ends."""


@pytest.mark.parametrize(("decision", "best", "rounds"), [("approve", "v1", 2), ("reject", "v0", 4)])
def test_a_decision_on_the_last_certification_of_a_run_ends_it_as_it_would_have_ended(
    tmp_path: Path, decision: str, best: str, rounds: int
) -> None:
    """Patience does not begin anew with a decision: nobody resumed the run."""
    with ScriptedServer(student) as server:
        place = dry.place(tmp_path, server)
        (tmp_path / "ODD").write_text(json.dumps(GAIN))
        document = carry(
            place, dry.asked(RUN, domain="soft", rounds=rounds, stop={"patience": 2}, options={"operator": "odd"})
        )
        assert document["state"] == "paused" and asked(place)["round"] == 2, document["rounds"]
        before = len(server.requests)
        say(place, decision, "as you like")
        ended = finish(place, RUN)
    assert (ended["state"], ended["round"], ended["best_version"]) == ("finished", 2, best), ended["error"]
    assert ended["rounds"][0]["candidates"][0]["decision"] == "kept"
    assert [one["gate"] for one in ended["gates"]] == ["certification", "final"]
    # two versions on 80 blind items, or v0 alone; the head on the 60 dev items of what may follow
    blind, dev = 80 * (1 + (best != "v0")), 60
    assert len(server.requests) - before == blind + dev, "nothing is measured again"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    place = installation(tmp_path_factory.mktemp("undisturbed"))
    carry(place, soft(rounds=1))
    document = approve_all(place)
    assert document["best_version"] == "v1", "nothing is approved, so nothing is tortured"
    return figures(document)


@pytest.mark.parametrize(
    ("kind", "edge"),
    [("sqlite", "begin"), ("sqlite", "worked"), ("postgresql", "worked"), ("postgresql", "committed")],
)
def test_workers_killed_around_it_decide_as_if_undisturbed(
    tmp_path: Path, undisturbed: list[Any], postgres: Any, kind: str, edge: str
) -> None:
    url = postgres.fresh() if kind == "postgresql" else ""
    plan = [(phase, edge) for phase in ("certify", "approval", "left", "generation")]
    torture = Torture(tmp_path, url, plan)
    place = torture.place
    run_start.start(place, soft(rounds=1))
    living = torture.spawn()
    deadline = time.monotonic() + 200
    try:
        while (now := state(place, RUN)) != "finished":
            assert time.monotonic() < deadline, log_of(place)
            assert now in {"starting", "running", "paused"}, runs.document(place, RUN)["error"]
            if living.poll() is not None:
                assert living.returncode == -signal.SIGKILL, log_of(place)
                living = torture.spawn()
            if now == "paused" and approvals.listing(place, state="pending").items:
                say(place, "approve")
            time.sleep(0.05)
    finally:
        living.kill()
        living.wait()
    assert torture.left() == []
    assert figures(runs.document(place, RUN)) == undisturbed


def test_a_deciding_process_that_is_killed_decided_wholly_or_not_at_all(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, soft(rounds=1))
    approval = asked(place)["approval_id"]
    code = (
        "import sys\n"
        "from everloop.service import approvals, open_installation\n"
        "place = open_installation()\n"
        "print('ready', flush=True)\n"
        "approvals.decide(place, sys.argv[1], 'approve')\n"
    )
    for wait in (0.0, 0.002, 0.005, 0.01, 0.02):
        with subprocess.Popen(
            [sys.executable, "-c", code, approval],
            env=environment(place),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(wait)
            process.kill()
        document = runs.document(place, RUN)
        decided = document["approvals"][0]["state"] == "approved"
        assert (document["state"] == "running") == decided
        assert sum("approved by" in one["text"] for one in events(place, RUN)) == decided
    if not decided:
        approvals.decide(place, approval, "approve", caller=LOCAL)
    assert finish(place, RUN)["best_version"] == "v1"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_decision_that_comes_just_before_the_pause_is_not_slept_through(
    tmp_path: Path, postgres: Any, kind: str
) -> None:
    place = installation(tmp_path, postgres.fresh() if kind == "postgresql" else "")
    run_start.start(place, soft(rounds=1))
    process = worker(place, str(Path(__file__).parent / "deciding_worker.py"))
    assert process.wait(60) == 0
    document = runs.document(place, RUN)
    assert (document["state"], document["best_version"]) == ("finished", "v1"), log_of(place)
    assert not any(one["data"].get("state") == "paused" for one in events(place, RUN))
