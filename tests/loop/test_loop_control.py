"""Stop, pause, resume, extend, steer, direct; the same seed again; what a finished run shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import carry, decisions, events, finish, installation, request, wait_for, worker

from everloop.errors import Conflict, InvalidDirective, InvalidRequest, InvalidSteer, RunNotActive, RunNotFound
from everloop.guard import snapshots
from everloop.paths import Home
from everloop.service import run_control, run_messages, run_start, runs
from everloop.service.request import StartRequest


def test_the_same_seed_decides_the_same_and_another_does_not(tmp_path: Path) -> None:
    one = carry(installation(tmp_path / "one"), request())
    again = carry(installation(tmp_path / "again"), request())
    other = carry(installation(tmp_path / "other"), request(options={"seed": 2}))
    assert decisions(one) == decisions(again)
    assert decisions(one) != decisions(other)


def test_a_run_on_postgresql_decides_as_on_sqlite(tmp_path: Path, postgres: Any) -> None:
    url = postgres.fresh()
    on_postgresql = carry(installation(tmp_path / "pg", url), request())
    assert decisions(on_postgresql) == decisions(carry(installation(tmp_path / "sqlite"), request()))


def test_a_certified_version_has_a_snapshot_that_verifies(tmp_path: Path) -> None:
    document = carry(installation(tmp_path), request(rounds=4))
    names = [one["version"] for one in document["versions"]]
    assert len(names) > 1
    for name in names[1:]:
        taken = snapshots.verify(Home(tmp_path).run("t-1"), name)
        assert taken.configuration["protocol_sha256"] == document["protocol"]["sha256"]


def test_stop_acts_after_the_round_and_resume_goes_on(tmp_path: Path) -> None:
    place = installation(tmp_path)
    run_start.start(place, request(rounds=400, options={"operator": "useless"}))
    process = worker(place)
    wait_for(place, "t-1", {"running"})
    while runs.live(place, "t-1")["round"] < 2:
        pass
    assert run_control.stop(place, "t-1")["stop_requested"] is True
    wait_for(place, "t-1", {"stopped"})
    process.wait(20)
    stopped = runs.document(place, "t-1", rounds=1000)
    assert all(one["decision"] for one in stopped["rounds"])
    done = len(stopped["rounds"])
    run_control.extend(place, "t-1", done + 1)
    resumed = finish(place, "t-1")
    assert (resumed["state"], len(resumed["rounds"])) == ("finished", done + 1)
    assert [gate["gate"] for gate in resumed["gates"]].count("final") == 2


def test_extend_of_a_finished_run_holds_a_new_final_gate_and_keeps_the_old(tmp_path: Path) -> None:
    place = installation(tmp_path)
    first = carry(place, request(rounds=1))
    with pytest.raises(Conflict, match="at round 1"):
        run_control.extend(place, "t-1", 1)
    assert run_control.extend(place, "t-1", 3)["state"] == "running"
    done = finish(place, "t-1")
    finals = [gate for gate in done["gates"] if gate["gate"] == "final"]
    assert (done["round"], len(finals)) == (3, 2)
    assert finals[0] == first["gates"][-1]
    for gate in finals:  # what is said against the control arm has its own interval and pairs
        told = [gate[name] for name in ("control_low", "change_from_control", "control_high")]
        assert gate["control_n"] == (None if gate["change_from_control"] is None else gate["n"])
        assert told == [None] * 3 or told == sorted(told)


def test_a_stopped_run_that_was_paused_ends_at_once(tmp_path: Path) -> None:
    place = installation(tmp_path)
    (tmp_path / "FAULT").write_text("mute-all")
    options = {"trainer": "synthetic-faulty", "launcher": "local-with-plugins"}
    assert carry(place, request(options=options))["state"] == "paused"
    assert run_control.stop(place, "t-1")["state"] == "stopped"


def test_resume_at_an_exhausted_cap_is_refused(tmp_path: Path) -> None:
    place = installation(tmp_path)
    stopped = carry(place, request(rounds=9, options={"operator": "paying"}, limits={"model_request_cap": 2}))
    assert stopped["state"] == "stopped"
    with pytest.raises(Conflict, match="model_request_cap is exhausted"):
        run_control.resume(place, "t-1")


@pytest.mark.parametrize("action", [run_control.stop, run_control.resume])
def test_a_finished_run_takes_neither_stop_nor_resume(tmp_path: Path, action: Any) -> None:
    place = installation(tmp_path)
    carry(place, request(rounds=1))
    with pytest.raises(Conflict):
        action(place, "t-1")


def test_a_steer_is_delivered_at_the_next_turn_and_changes_the_plan(tmp_path: Path) -> None:
    place = installation(tmp_path)
    run_start.start(place, request(rounds=1))
    assert run_messages.steer(place, "t-1", "focus s3")["status"] == "queued"
    run_messages.add_directive(place, "t-1", "steps 300")
    document = finish(place, "t-1")
    plan = document["rounds"][0]["candidates"][0]["proposal"]["plan"]
    assert plan["families"] == ["s3"]
    assert plan["settings"]["steps"] == 300
    (steer,) = runs.live(place, "t-1")["steers"]
    assert steer["status"] == "delivered"
    assert [one["text"] for one in document["directives"]] == ["steps 300"]


def test_steers_that_come_too_late_are_refused_or_dropped(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, request(rounds=1))
    with pytest.raises(RunNotActive):
        run_messages.steer(place, "t-1", "focus s3")


@pytest.mark.parametrize("text", ["", "   ", "x" * 4001, 7, None])
def test_bad_texts_are_refused(tmp_path: Path, text: Any) -> None:
    place = installation(tmp_path)
    run_start.start(place, request())
    with pytest.raises(InvalidSteer):
        run_messages.steer(place, "t-1", text)
    with pytest.raises(InvalidDirective):
        run_messages.add_directive(place, "t-1", text)


def test_unknown_and_taken_run_ids(tmp_path: Path) -> None:
    place = installation(tmp_path)
    with pytest.raises(RunNotFound):
        runs.document(place, "nobody")
    run_start.start(place, request())
    with pytest.raises(Conflict, match="exists"):
        run_start.start(place, request())


def test_no_free_slot_is_a_conflict(tmp_path: Path) -> None:
    place = installation(tmp_path, max_active_runs=1)
    run_start.start(place, request("one"))
    with pytest.raises(Conflict, match="no run slot"):
        run_start.start(place, request("two"))


def test_a_protocol_whose_items_do_not_last_for_a_round_is_refused(tmp_path: Path) -> None:
    place = installation(tmp_path)
    with pytest.raises(InvalidRequest, match="could exhaust the diag items"):
        run_start.start(place, request(domain="arith", limits={"diag_per_family": 10**6}, options={"trainer": "nano"}))


def test_a_target_beyond_the_items_is_taken_and_says_how_far_they_last(tmp_path: Path) -> None:
    place = installation(tmp_path)
    run_start.start(place, request(domain="arith", rounds=1000, options={"trainer": "nano"}))
    lasts = runs.document(place, "t-1")["protocol"]["rounds_supply"]
    assert 10 < lasts < 1000


def test_a_run_ends_with_its_final_gate_where_the_fresh_items_do(tmp_path: Path) -> None:
    document = carry(installation(tmp_path), request(rounds=1000, domain="scarce", options={"trainer": "synthetic"}))
    lasts = document["protocol"]["rounds_supply"]
    assert 1 <= lasts <= 20
    assert (document["state"], document["round"]) == ("finished", lasts)
    assert [gate["gate"] for gate in document["gates"]][-1] == "final"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"run": "Bad Name"}, "run must be"),
    ({"run": "x" * 65}, "run must be"),
    ({"brief": " "}, "brief"),
    ({"brief": "x" * 4001}, "brief"),
    ({"rounds": 0}, "rounds"),
    ({"rounds": 1001}, "rounds"),
    ({"rounds": True}, "rounds"),
    ({"rounds": 2.5}, "rounds"),
    ({"limits": {"model_usd_cap": 1, "nonsense": 2}}, "nonsense"),
    ({"limits": {}}, "model_usd_cap"),
    ({"limits": {"model_usd_cap": float("nan")}}, "model_usd_cap"),
    ({"limits": {"model_usd_cap": float("inf")}}, "model_usd_cap"),
    ({"limits": {"model_usd_cap": 0}}, "model_usd_cap"),
    ({"limits": {"model_usd_cap": 1, "dev_n": -4}}, "dev_n"),
    ({"limits": {"model_usd_cap": 1, "dev_n": 4.5}}, "dev_n"),
    ({"goal": {"split": "nowhere", "target": 0.5}}, "nowhere"),
    ({"goal": {"split": "all", "target": 1.5}}, "target"),
    ({"stop": {"patience": 0}}, "patience"),
    ({"domain": "astrology"}, "astrology"),
    ({"options": {"operator": "nobody"}}, "nobody"),
    ({"options": {"gate": "coin"}}, "coin"),
    ({"options": {"colour": "red"}}, "colour"),
    ({"surprise": 1}, "surprise"),
    ({"dry_run": True}, "dry run"),
    ({"student_model": "x"}, "student_model"),
]


@pytest.mark.parametrize(("change", "named"), BAD)
def test_bad_starts_name_the_field_and_leave_nothing(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    place = installation(tmp_path)
    document = {"run": "t-1", "brief": "b", "limits": {"model_usd_cap": 1}, "domain": "synthetic"} | change
    with pytest.raises(InvalidRequest, match=named):
        run_start.start(place, StartRequest.from_json(document))
    assert runs.listing(place) == []


def test_events_are_numbered_without_gaps_and_paged(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, request(rounds=6))
    seqs = [event["seq"] for event in events(place, "t-1")]
    assert seqs == list(range(1, len(seqs) + 1))
    assert runs.live(place, "t-1", since=10**6)["next_cursor"] == 10**6
    with pytest.raises(InvalidRequest):
        runs.live(place, "t-1", since=-1)
