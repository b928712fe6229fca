"""A dry run with a real language model as student: SmolLM2 on this machine, its prompt really measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import carry, installation, log_of

from everloop.service import local_model
from everloop.service.request import StartRequest

SIZES = {"diag_per_family": 5, "dev_n": 24, "admission_n": 9, "eval_limit": 60, "blind_n": 24, "calib_n": 12}


def asked(run: str) -> StartRequest:
    document = {"run": run, "brief": "Answer sums rightly.", "domain": "sums", "rounds": 1, "dry_run": True}
    limits = {"model_usd_cap": 1.0, **SIZES}
    return StartRequest.from_json(document | {"limits": limits, "options": {"seed": 3}})


def scores(document: dict[str, Any], name: str) -> list[Any]:
    return [one["scores"] for one in document["versions"] if one["version"] == name]


@pytest.mark.timeout(900)
def test_a_real_models_prompt_is_diagnosed_changed_measured_and_judged_and_it_repeats(tmp_path: Path) -> None:
    home = installation(tmp_path)
    with local_model.served(home) as name:
        one, two = (carry(home, asked(run), seconds=280) for run in ("one", "two"))
    assert name == "smollm2"
    assert one["state"] == two["state"] == "finished", log_of(home)
    assert one["spend"]["model_usd"] == 0
    assert one["spend"]["student_requests"] == two["spend"]["student_requests"] > 80
    candidate = one["rounds"][0]["candidates"][0]
    assert candidate["screen"] is not None or "clearly worse" in candidate["reasons"][0]
    final = next(gate for gate in one["gates"] if gate["gate"] == "final")
    assert final["n"] == 24
    assert final["mean"] is not None
    assert scores(one, "v0") == scores(two, "v0")
    assert [round_["candidates"][0]["screen"] for round_ in one["rounds"]] == [
        round_["candidates"][0]["screen"] for round_ in two["rounds"]
    ]
