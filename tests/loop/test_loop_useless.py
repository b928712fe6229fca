"""Candidates that cannot help are not certified, and one that destroys a family is stopped, through the real engine."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import carry, installation, request

from everloop.students.synthetic import SyntheticTrainer

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
useless: Any = importlib.import_module("useless")

pytestmark = pytest.mark.timeout(600)
PROPOSALS = 200
REAL_PROPOSALS = 20


def runs_of(home: Path) -> dict[str, list[Any]]:
    """The trials of the same proposals under every gate."""
    place, found, against = installation(home), {}, None
    for gate in useless.GATES:
        asked = useless.asked(gate.replace("_", "-"), gate, PROPOSALS, seed=1)
        document = carry(place, asked, seconds=240)
        assert document["state"] == "finished", document["error"]
        paths = place.home.run(asked.run)
        against = against or useless.exam(paths, asked)
        found[gate] = useless.trials(paths, document, against)
        _same_quality(paths, [trial.candidate for trial in found[gate]])
    return found


def _same_quality(paths: Any, names: list[str]) -> None:
    """By the law of the synthetic student the same rows change nothing: every candidate is exactly as good as v0."""
    sampler = SyntheticTrainer().sampler
    qualities = [sampler(useless.checkpoint_of(paths, name)).weights.quality for name in ("base", *names)]
    assert all(one == qualities[0] for one in qualities)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    return runs_of(tmp_path_factory.mktemp("useless"))


def test_the_gates_see_the_same_proposals_and_none_is_really_better(found: dict[str, list[Any]]) -> None:
    weights = {gate: [trial.sha256 for trial in made] for gate, made in found.items()}
    assert len(set(weights["two_line"])) == PROPOSALS
    assert weights["two_line"] == weights["eprocess"] == weights["greedy"]
    assert all(trial.truth.pairs >= 20_000 for made in found.values() for trial in made)
    assert not any(trial.really_better for made in found.values() for trial in made)


@pytest.mark.parametrize("gate", ["two_line", "eprocess"])
def test_a_certifying_gate_claims_at_most_one_of_200(found: dict[str, list[Any]], gate: str) -> None:
    assert sum(trial.claimed for trial in found[gate]) <= 1


def test_greedy_claims_more_than_three_tenths_of_the_useless(found: dict[str, list[Any]]) -> None:
    claimed = [trial.claimed for trial in found["greedy"] if trial.useless]
    assert len(claimed) >= 30
    assert sum(claimed) > 0.3 * len(claimed)
    assert sum(trial.claimed for trial in found["greedy"]) > 0.3 * PROPOSALS


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_of_20_trainings_of_a_network_at_its_plateau_at_most_one_is_certified(tmp_path: Path) -> None:
    place = installation(tmp_path)
    asked = useless.asked("real", "two_line", REAL_PROPOSALS, seed=1, domain="arith", options=useless.REAL)
    document = carry(place, asked, seconds=700)
    assert document["state"] == "finished", document["error"]
    paths = place.home.run("real")
    made = useless.trials(paths, document, useless.exam(paths, asked))
    assert len(made) == REAL_PROPOSALS
    assert sum(trial.useless for trial in made) > REAL_PROPOSALS / 2, "else this run shows nothing"
    for claims in ([trial.claimed for trial in made], useless.replayed("eprocess", paths, asked, made)):
        assert sum(took for took, trial in zip(claims, made, strict=True) if trial.useless) <= 1


LEFT = {"diag_per_family": 32, "dev_n": 320, "collect_tasks": 120, "collect_k": 2, "admission_n": 4}
"""A pre-test of 4 items can refuse nothing, so that what stops the candidate is the floor or nothing."""


def without_replay(home: Path, seed: int) -> None:
    place = installation(home)
    asked = request(rounds=1, domain="arith", limits=LEFT, options={"operator": "no-replay", "seed": seed})
    document = carry(place, asked, seconds=240)
    assert document["state"] == "finished", document["error"]
    (candidate,) = document["rounds"][0]["candidates"]
    assert candidate["decision"] == "rejected"
    fallen = [reason for reason in candidate["reasons"] if "fell by" in reason]
    assert fallen and "sub" in fallen[0], json.dumps(candidate["reasons"])
    assert document["best_version"] == "v0"


def test_training_without_replay_is_stopped_by_the_floor_under_each_family(tmp_path: Path) -> None:
    without_replay(tmp_path, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [2, 3, 4, 5, 6])
def test_training_without_replay_is_stopped_every_time(tmp_path: Path, seed: int) -> None:
    without_replay(tmp_path, seed)
