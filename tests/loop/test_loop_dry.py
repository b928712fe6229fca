"""Dry runs: a candidate is a prompt, the student is a model behind the gateway, and nothing is trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dry import add, asked, billed, place, student
from harness import carry, decisions, events, finish, log_of, worker
from scripted import Reply, Request, ScriptedServer

from everloop.errors import InvalidRequest, ModelNotConfigured
from everloop.gateway.base import Use
from everloop.service import models, runs


def first(document: dict[str, Any], number: int) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in document["rounds"] if one["round"] == number)
    return found


def final(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in document["gates"] if one["gate"] == "final")
    return found


def test_a_prompt_that_helps_is_certified_and_one_that_harms_is_rejected(tmp_path: Path, database_url: str) -> None:
    with ScriptedServer(student) as server:
        home = place(tmp_path / "home", server, database_url)
        document = carry(home, asked())
    assert (document["state"], document["mode"], document["best_version"]) == ("finished", "dry", "v1"), log_of(home)
    kept, harmful, same = (first(document, number)["candidates"][0] for number in (1, 2, 3))
    assert kept["decision"] in {"kept", "certified"}
    assert harmful["decision"] == "rejected"
    assert "clearly worse" in harmful["reasons"][0]
    assert same["decision"] == "rejected"
    assert "near-duplicate" in same["reasons"][0]
    assert final(document)["passed"] is True
    assert final(document)["baseline_mean"] < 0.6 < 0.85 < final(document)["mean"]
    artifact = document["versions"][1]["artifact"]
    assert artifact["type"] == "config"
    prompt = json.loads((tmp_path / "home/runs/dry-1" / artifact["path"] / "prompt.json").read_text())
    assert prompt["system"].endswith("quality=0.95")


def test_nothing_is_trained_and_every_request_is_paid(tmp_path: Path) -> None:
    with ScriptedServer(student) as server:
        home = place(tmp_path, server)
        document = carry(home, asked())
        spend = document["spend"]
        assert spend["student_requests"] == len(server.requests)
        assert round(spend["model_usd"] * 1_000_000) == billed(server)
    assert (spend["model_requests"], spend["gpu_usd"]) == (0, 0)
    assert runs.live(home, "dry-1")["jobs"] == []
    assert document["control"] is None
    assert final(document)["control_mean"] is None
    assert [step["done"] for step in document["steps"]] == [False, True, True, True]


def test_the_protocol_says_beforehand_who_answers_and_what_can_be_detected(tmp_path: Path) -> None:
    with ScriptedServer(student) as server:
        protocol = runs.start(place(tmp_path, server), asked())["protocol"]
    assert protocol["student"]["name"] == "scripted"
    assert 0 < protocol["minimum_detectable_effect"] < 1
    assert protocol["worst_case_usd"] == 1.0


def test_the_same_run_again_measures_the_same(tmp_path: Path) -> None:
    with ScriptedServer(student) as server:
        one, two = (carry(place(tmp_path / name, server), asked()) for name in ("a", "b"))
    assert decisions(one) == decisions(two)


def test_a_dry_run_without_a_student_is_refused_with_how_to_get_one(tmp_path: Path) -> None:
    with ScriptedServer(student) as server:
        home = place(tmp_path, server)
        models.remove(home, "scripted")
        with pytest.raises(InvalidRequest, match="el model serve-local --register"):
            runs.start(home, asked())
        with pytest.raises(ModelNotConfigured, match="no-such-model"):
            runs.start(home, asked(student_model="no-such-model"))


def test_student_model_goes_with_dry_runs_only_and_a_trainer_with_live_ones() -> None:
    with pytest.raises(InvalidRequest, match="student_model"):
        asked(dry_run=False, student_model="x")
    with pytest.raises(InvalidRequest, match=r"options\.trainer"):
        asked(options={"trainer": "nano"})


def test_a_training_operator_in_a_dry_run_is_refused_by_the_allow_list(tmp_path: Path) -> None:
    with ScriptedServer(student) as server:
        document = carry(place(tmp_path, server), asked(options={"operator": "curriculum"}, rounds=1))
    candidate = first(document, 1)["candidates"][0]
    assert candidate["decision"] == "rejected"
    assert any("nothing is trained" in reason for reason in candidate["reasons"])
    assert final(document)["passed"] is None


def test_worked_examples_that_are_items_of_an_evaluation_set_are_contamination(tmp_path: Path) -> None:
    with ScriptedServer(student) as server:
        document = carry(place(tmp_path, server), asked(options={"operator": "leaky"}, rounds=1))
    candidate = first(document, 1)["candidates"][0]
    assert candidate["decision"] == "rejected"
    assert candidate["reasons"][0].startswith("contamination")


@pytest.mark.parametrize(
    ("cap", "value"), [("student_request_cap", 300), ("model_usd_cap", 0.02), ("usd_cap", 0.02), ("request_cap", 300)]
)
def test_each_cap_ends_the_run_cleanly_and_is_never_passed(tmp_path: Path, cap: str, value: float) -> None:
    with ScriptedServer(student) as server:
        document = carry(place(tmp_path, server), asked(limits={cap: value}))
        seen, cost = len(server.requests), billed(server)
    assert document["state"] == "stopped"
    assert cap in events(home_of(tmp_path), "dry-1")[-1]["text"]
    assert (seen if "request" in cap else cost / 1_000_000) <= value
    assert document["spend"]["student_requests"] == seen


def home_of(root: Path) -> Any:
    from harness import installation

    return installation(root)


def test_a_student_that_is_away_pauses_the_run_and_resume_goes_on(tmp_path: Path) -> None:
    away = True

    def script(request: Request) -> Reply:
        return Reply(fault="503") if away and len(server.requests) > 40 else student(request)

    with ScriptedServer(script) as server:
        home = place(tmp_path, server, model_retries=1)
        document = carry(home, asked(rounds=1))
        assert document["state"] == "paused"
        assert document["error"]["code"] == "MODEL_UNAVAILABLE"
        away = False
        runs.resume(home, "dry-1")
        document = finish(home, "dry-1")
    assert document["state"] == "finished"
    assert final(document)["passed"] is True


def test_an_item_the_model_refuses_is_missing_and_never_wrong(tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        return Reply(fault="400") if request.last.endswith("1?") else student(request)

    with ScriptedServer(script) as server:
        document = carry(place(tmp_path, server), asked(rounds=1))
    record = final(document)
    assert record["missing"] > 0
    assert record["n"] + record["missing"] == 80


def test_a_student_configured_differently_than_in_the_protocol_pauses_the_run(tmp_path: Path) -> None:
    with ScriptedServer(student) as server:
        home = place(tmp_path, server)
        runs.start(home, asked(rounds=1))
        add(home, server, "scripted", Use.STUDENT, settings={"temperature": 0.3})
        document = finish(home, "dry-1")
    assert document["state"] == "paused"
    assert "configured differently" in document["error"]["message"]


def test_two_workers_share_a_cap(tmp_path: Path, database_url: str) -> None:
    with ScriptedServer(student) as server:
        home = place(tmp_path / "home", server, database_url)
        for name in ("a", "b"):
            runs.start(home, asked(name, rounds=1, limits={"student_request_cap": 150}))
        both = [worker(home) for _ in range(2)]
        for process in both:
            process.wait(60)
        for name in ("a", "b"):
            assert runs.document(home, name)["spend"]["student_requests"] <= 150
        assert len(server.requests) <= 300
