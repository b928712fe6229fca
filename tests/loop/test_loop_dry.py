"""Dry runs: a candidate is a prompt, the student is a model behind the gateway, and nothing is trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dry import add, asked, billed, place, student
from harness import carry, decisions, events, finish, installation, log_of, worker
from scripted import Reply, Request, ScriptedServer

from everloop.domains.base import Item
from everloop.domains.stream import Stream
from everloop.domains.synthetic import Synthetic
from everloop.errors import InvalidRequest, ModelNotConfigured
from everloop.gateway.base import Use
from everloop.service import models, run_control, run_start, runs
from everloop.service.installation import Installation
from everloop.service.request import StartRequest


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
        protocol = run_start.start(place(tmp_path, server), asked())["protocol"]
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
            run_start.start(home, asked())
        with pytest.raises(ModelNotConfigured, match="no-such-model"):
            run_start.start(home, asked(student_model="no-such-model"))


def test_student_model_goes_with_dry_runs_only_and_a_trainer_with_live_ones() -> None:
    with pytest.raises(InvalidRequest, match="student_model"):
        asked(dry_run=False, student_model="x")
    with pytest.raises(InvalidRequest, match=r"options\.trainer"):
        asked(options={"trainer": "nano"})


def odd(home: Installation, **told: Any) -> dict[str, Any]:
    """The candidate of round 1 that the odd operator proposes as it is told."""
    (home.home.root / "ODD").write_text(json.dumps(told))
    document = carry(home, asked(options={"operator": "odd"}, rounds=1))
    assert document["state"] == "finished", log_of(home)
    return dict(first(document, 1)["candidates"][0]) if first(document, 1)["candidates"] else {}


@pytest.mark.parametrize(("operator", "dry_run"), [("curriculum", True), ("prompter", False)])
def test_an_operator_of_the_other_kind_is_refused_at_the_start(tmp_path: Path, operator: str, dry_run: bool) -> None:
    with ScriptedServer(student) as server:
        home = place(tmp_path, server)
        with pytest.raises(InvalidRequest, match="is for"):
            run_start.start(home, asked(options={"operator": operator}, dry_run=dry_run))


def reserved_items(home: Installation, name: str, count: int) -> list[Item]:
    """The first items that the run of these tests draws from a set."""
    found = Stream(Synthetic(), asked().options.seed).draw_balanced(name, count, {})
    return list(found[0])


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"training": True}, "nothing is trained"),
    ({"examples": [["s1", "s1:77", "000000"]]}, "no task that this run's diagnoses saw fail"),
    ({"failures": 2, "answer": "123"}, "is not the right one"),
    ({"targets": ["context"]}, "changes prompt and no intervention says so"),
    ({"targets": ["prompt", "judge"]}, "judge may not be changed"),
]


@pytest.mark.parametrize(("told", "reason"), REFUSED)
def test_what_a_prompt_may_not_hold_is_refused_on_record(tmp_path: Path, told: dict[str, Any], reason: str) -> None:
    with ScriptedServer(student) as server:
        candidate = odd(place(tmp_path, server), **told)
    assert candidate["decision"] == "rejected"
    assert any(reason in one for one in candidate["reasons"]), candidate["reasons"]


@pytest.mark.parametrize("name", ["dev", "certify", "blind"])
@pytest.mark.parametrize("written", ["{}", " {}  ", "The answer to {} is known."])
def test_an_item_it_may_be_measured_on_is_contamination_wherever_it_stands(
    tmp_path: Path, name: str, written: str
) -> None:
    with ScriptedServer(student) as server:
        home = place(tmp_path, server)
        item = reserved_items(home, name, 40)[29]
        system = f"quality=0.95 {written.format(item.prompt.replace(':', ' : '))}"
        candidate = odd(home, prompt={"system": system})
    assert candidate["decision"] == "rejected"
    assert "contamination" in candidate["reasons"][0]
    assert f"1 of {name}" in candidate["reasons"][0]


def test_failures_of_the_diagnosis_may_be_worked_examples(tmp_path: Path) -> None:
    with ScriptedServer(student) as server:
        candidate = odd(place(tmp_path, server), failures=4)
    assert candidate["decision"] in {"kept", "certified"}
    assert len(candidate["proposal"]["plan"]["prompt"]["examples"]) == 4


def test_a_prompt_that_was_edited_is_not_measured(tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        return Reply(fault="503") if len(server.requests) == 300 else student(request)

    with ScriptedServer(script) as server:
        home = place(tmp_path, server, model_retries=0)
        assert carry(home, asked(rounds=1))["state"] == "paused"
        (path,) = (tmp_path / "runs/dry-1/prompts").glob("v0-*/prompt.json")
        path.write_text(path.read_text().replace("What is", "Guess"))
        run_control.resume(home, "dry-1")
        document = finish(home, "dry-1")
    assert document["state"] == "paused"
    assert "was changed" in document["error"]["message"]


def test_a_pause_in_the_closing_pays_nothing_again(tmp_path: Path) -> None:
    away = [True]

    def script(request: Request) -> Reply:
        return Reply(fault="503") if away[0] and len(server.requests) > undisturbed - 20 else student(request)

    with ScriptedServer(student) as server:
        carry(place(tmp_path / "a", server), asked(rounds=1))
        undisturbed = len(server.requests)
    with ScriptedServer(script) as server:
        home = place(tmp_path / "b", server, model_retries=0)
        document = carry(home, asked(rounds=1))
        assert document["state"] == "paused"
        answered, away[0] = server.tokens.answered, False
        run_control.resume(home, "dry-1")
        document = finish(home, "dry-1")
    assert document["state"] == "finished"
    assert server.tokens.answered == undisturbed, f"{answered} had come before the pause"


def test_a_revoked_key_pauses_the_run_and_blames_no_candidate(tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        return Reply(fault="401") if "quality" in request.text else student(request)

    with ScriptedServer(script) as server:
        document = carry(place(tmp_path, server), asked(rounds=1))
    assert (document["state"], document["error"]["code"]) == ("paused", "MODEL_REFUSED")


def test_a_reply_that_is_no_text_fails_no_run(tmp_path: Path, database_url: str) -> None:
    def script(request: Request) -> Reply:
        reply = student(request)
        return Reply(f"\ud800\0{reply.text}\0", input_tokens=20, output_tokens=5)

    with ScriptedServer(script) as server:
        home = place(tmp_path / "home", server, database_url)
        (home.home.root / "ODD").write_text(json.dumps({"prompt": {"reader": "after_marker", "marker": "is"}}))
        document = carry(home, asked(options={"operator": "odd"}, rounds=2))
    assert document["state"] == "finished", log_of(home)


def test_a_dry_run_has_the_dev_set_its_gate_is_made_for() -> None:
    document = {"run": "d", "brief": "b", "domain": "synthetic", "dry_run": True, "limits": {"model_usd_cap": 1}}
    assert StartRequest.from_json(document).limits.dev_n == 60
    assert StartRequest.from_json(document | {"dry_run": False}).limits.dev_n == 400


def test_the_worst_case_of_a_dry_run_is_its_tightest_cap(tmp_path: Path) -> None:
    with ScriptedServer(student) as server:
        protocol = run_start.start(place(tmp_path, server), asked(limits={"usd_cap": 0.5}))["protocol"]
    assert protocol["worst_case_usd"] == 0.5


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"operator_model": "scripted"}, "operator_model"),
        ({"auditor_model": "scripted"}, "auditor_model"),
        ({"auditors": ["rationale", "rationale", "contamination", "regression"]}, "names one twice"),
    ],
)
def test_options_that_would_change_nothing_are_refused(tmp_path: Path, options: dict[str, Any], named: str) -> None:
    with ScriptedServer(student) as server:
        home = place(tmp_path, server)
        with pytest.raises(InvalidRequest, match=named):
            run_start.start(home, asked(options=options))


@pytest.mark.parametrize(
    ("cap", "value"), [("student_request_cap", 300), ("model_usd_cap", 0.02), ("usd_cap", 0.02), ("request_cap", 300)]
)
def test_each_cap_ends_the_run_cleanly_and_is_never_passed(tmp_path: Path, cap: str, value: float) -> None:
    with ScriptedServer(student) as server:
        document = carry(place(tmp_path, server), asked(limits={cap: value}))
        seen, cost = len(server.requests), billed(server)
    assert document["state"] == "stopped"
    assert cap in events(installation(tmp_path), "dry-1")[-1]["text"]
    assert (seen if "request" in cap else cost / 1_000_000) <= value
    assert document["spend"]["student_requests"] == seen


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
        run_control.resume(home, "dry-1")
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
        run_start.start(home, asked(rounds=1))
        add(home, server, "scripted", Use.STUDENT, settings={"temperature": 0.3})
        document = finish(home, "dry-1")
    assert document["state"] == "paused"
    assert "configured differently" in document["error"]["message"]


def test_two_workers_carry_two_runs_within_the_caps_of_each(tmp_path: Path, database_url: str) -> None:
    with ScriptedServer(student) as server:
        home = place(tmp_path / "home", server, database_url)
        for name in ("a", "b"):
            run_start.start(home, asked(name, rounds=1, limits={"student_request_cap": 150}))
        both = [worker(home) for _ in range(2)]
        for process in both:
            process.wait(60)
        for name in ("a", "b"):
            assert runs.document(home, name)["spend"]["student_requests"] <= 150
        assert len(server.requests) <= 300
