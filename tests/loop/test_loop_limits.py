"""Every key of the limits table, `goal` and `stop`: changing it changes the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import carry, events, installation, request


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return carry(installation(tmp_path_factory.mktemp("reference")), request())


def data(place: Any, run: str, phase: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events(place, run) if event["phase"] == phase]


def texts(place: Any, run: str, phase: str) -> list[str]:
    return [event["text"] for event in events(place, run) if event["phase"] == phase]


def test_the_reference_finishes_at_its_target(reference: dict[str, Any]) -> None:
    assert reference["state"] == "finished"
    assert [one["round"] for one in reference["rounds"]] == [1, 2]
    assert reference["gates"][-1]["gate"] == "final"
    assert reference["gates"][-1]["n"] == 400


def test_diag_per_family_sizes_the_diagnosis(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, request(rounds=1, limits={"diag_per_family": 7}))
    (diagnosis,) = data(place, "t-1", "diagnose")
    assert {n for _, n in diagnosis["families"].values()} == {7}


def test_dev_n_sizes_the_screen(tmp_path: Path) -> None:
    document = carry(installation(tmp_path), request(rounds=1, limits={"dev_n": 120}))
    assert document["rounds"][0]["candidates"][0]["screen"]["pairs"] == 120
    assert next(one for one in document["protocol"]["sets"] if one["set"] == "dev")["n"] == 120


def test_dev_use_cap_retires_a_dev_set(tmp_path: Path) -> None:
    place = installation(tmp_path)
    options = {"operator": "useless"}
    carry(place, request("kept", rounds=3, options=options, limits={"dev_use_cap": 20}))
    carry(place, request("retired", rounds=3, options=options, limits={"dev_use_cap": 1}))
    assert len(data(place, "retired", "dev")) > len(data(place, "kept", "dev"))


def test_collect_tasks_and_k_and_rows_size_the_data(tmp_path: Path) -> None:
    place = installation(tmp_path)

    def rows(run: str, **limits: int) -> int:
        carry(place, request(run, rounds=1, limits=limits))
        (text,) = texts(place, run, "collect")
        return int(text.split(" of ")[0])

    usual = rows("usual")
    assert rows("fewer-tasks", collect_tasks=20) < usual
    assert rows("one-sample", collect_k=1) < usual
    assert rows("capped", max_rows_per_family=5) <= 4 * 5 < usual


def test_admission_n_sizes_the_pre_test(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, request(rounds=1, limits={"admission_n": 24}))
    (text,) = texts(place, "t-1", "admit")
    assert text.endswith("of 24 pairs")


def test_eval_limit_bounds_a_certification(tmp_path: Path) -> None:
    document = carry(
        installation(tmp_path), request(limits={"eval_limit": 120}, options={"operator": "useless"}, rounds=1)
    )
    assert document["protocol"]["certify_pairs"] == 60


def test_blind_n_sizes_the_final_gate(tmp_path: Path) -> None:
    document = carry(installation(tmp_path), request(rounds=1, limits={"blind_n": 240}))
    assert document["gates"][-1]["n"] == 240


def test_calib_n_sizes_the_judges_proof(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, request(rounds=1, limits={"calib_n": 31}))
    (text,) = texts(place, "t-1", "calibrate")
    assert "of 31 gold answers" in text


def test_model_usd_cap_stops_a_run_whose_operator_pays(tmp_path: Path) -> None:
    place = installation(tmp_path)
    document = carry(place, request(rounds=9, options={"operator": "paying"}, limits={"model_usd_cap": 0.025}))
    assert document["state"] == "stopped"
    assert document["spend"]["model_usd"] == 0.02
    assert "model_usd_cap" in events(place, "t-1")[-1]["text"]
    assert document["gates"][-1]["gate"] == "final"


@pytest.mark.parametrize("cap", ["model_request_cap", "request_cap"])
def test_request_caps_stop_a_run_whose_operator_pays(tmp_path: Path, cap: str) -> None:
    place = installation(tmp_path)
    document = carry(place, request(rounds=9, options={"operator": "paying"}, limits={cap: 3}))
    assert (document["state"], document["spend"]["model_requests"]) == ("stopped", 3)
    assert cap in events(place, "t-1")[-1]["text"]


def test_student_request_cap_stops_a_run_with_a_billed_student(tmp_path: Path) -> None:
    place = installation(tmp_path)
    options = {"trainer": "synthetic-billed"}
    document = carry(place, request(rounds=9, options=options, limits={"student_request_cap": 3000}))
    assert document["state"] == "stopped"
    assert 0 < document["spend"]["student_requests"] <= 3000
    assert "student_request_cap" in events(place, "t-1")[-1]["text"]


def test_usd_cap_reserves_jobs_before_they_start(tmp_path: Path) -> None:
    place = installation(tmp_path, local_usd_per_hour=3600.0, job_time_limit_seconds=10.0)
    options = {"trainer": "synthetic-job"}
    document = carry(place, request(rounds=9, options=options, limits={"usd_cap": 9.0}))
    assert (document["state"], document["best_version"], document["gates"]) == ("stopped", None, [])
    assert document["spend"]["total_usd"] == 0
    assert any("usd_cap" in event["text"] for event in events(place, "t-1"))


def test_goal_finishes_the_run_when_certified(tmp_path: Path, reference: dict[str, Any]) -> None:
    document = carry(installation(tmp_path), request(rounds=9, goal={"split": "all", "target": 0.6}))
    assert document["state"] == "finished"
    assert document["best_version"] != "v0"
    assert len(document["rounds"]) < 9


def test_patience_finishes_a_run_that_goes_nowhere(tmp_path: Path) -> None:
    document = carry(installation(tmp_path), request(rounds=9, options={"operator": "useless"}, stop={"patience": 2}))
    assert (document["state"], len(document["rounds"])) == ("finished", 2)


def test_wall_seconds_finishes_a_run(tmp_path: Path) -> None:
    document = carry(
        installation(tmp_path), request(rounds=1000, options={"operator": "useless"}, stop={"wall_seconds": 1})
    )
    assert document["state"] == "finished"
    assert 0 < len(document["rounds"]) < 1000


def test_rounds_sets_the_target(tmp_path: Path) -> None:
    assert len(carry(installation(tmp_path), request(rounds=1))["rounds"]) == 1
