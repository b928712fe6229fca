from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from everloop.cli.gate import gate


def answer(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(gate, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


def test_plan_answers_effect_and_cost() -> None:
    document = answer("plan", "--usd-per-hour", "6", "--rounds", "2")
    assert document["worst_case_usd"] == 5.0
    assert 0 < float(str(document["minimum_detectable_effect"])) < 0.1


def test_simulate_answers_the_documented_keys() -> None:
    steps = answer("simulate", "--policy", "greedy", "--rounds", "50", "--reps", "2", "--seed", "1")
    assert set(steps) == {"policy", "far", "fdp", "power", "evals_per_candidate", "points_per_1000"}
    runs = answer("simulate", "--budget", "800", "--reps", "2", "--rare", "--rho", "0.5", "--start", "0.6")
    assert set(runs) >= {"policy", "true_best", "false_claims", "claims_per_run"}


def test_selftest_answers_a_rate_with_its_interval() -> None:
    document = answer("selftest", "--policy", "greedy", "--reps", "30")
    rate = document["false_accepts"]
    assert isinstance(rate, dict) and rate["n"] == 30


@pytest.mark.parametrize("command", ["plan", "selftest", "simulate"])
def test_an_unknown_policy_is_a_clear_error(command: str) -> None:
    result = CliRunner().invoke(gate, [command, "--policy", "best"])
    assert result.exit_code == 2
    assert "screen_blind" in result.stderr


@pytest.mark.parametrize("bad", [("--rho", "1"), ("--start", "2"), ("--reps", "0"), ("--budget", "-1")])
def test_bad_numbers_are_refused(bad: tuple[str, str]) -> None:
    assert CliRunner().invoke(gate, ["simulate", *bad]).exit_code == 2
