"""The soft score in a run: unseen without a calibration; with one it is shown beside the rules and orders ideas."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dry
import pytest
from agents import Strong, candidate, submit, verdict
from harness import carry, events, installation, request
from scripted import ScriptedServer

from everloop.gateway.base import Use
from everloop.loop import soft_score
from everloop.service.evaluator import recalibrate
from everloop.service.installation import Installation
from everloop.store import candidates, phases, reviews, rounds

sys.path.append(str(Path(__file__).parents[1] / "evaluator"))

from records import fill

PANEL = ["rationale", "contamination", "regression"]


def shown(document: dict[str, Any]) -> list[dict[str, Any]]:
    made = [one for number in document["rounds"] for one in number["candidates"]]
    return [review for one in made for review in one["reviews"] if review["kind"] == soft_score.KIND]


def plan(replay: float, rate: float, **changes: Any) -> dict[str, Any]:
    made = candidate()
    del made["prompt"]
    change = made["interventions"][0] | {"target": "data"}
    fields = {"rows_per_family": 40, "replay_share": replay, "steps": 500, "batch_size": 128, "learning_rate": rate}
    return made | {"interventions": [change], "source": "collected"} | fields | changes


@pytest.fixture
def calibrated(tmp_path: Path) -> Installation:
    home = installation(tmp_path / "home")
    fill(home.database, 60, signal=3)
    assert recalibrate(home)["abstained"] == ""
    return home


def test_without_a_calibration_nothing_of_it_is_seen(tmp_path: Path) -> None:
    home = installation(tmp_path)
    document = carry(home, request(rounds=1))
    assert shown(document) == []
    assert not any("soft" in one["text"] for one in events(home, "t-1"))


def test_with_a_calibration_every_candidate_has_its_score_and_the_rules_still_decide(calibrated: Installation) -> None:
    document = carry(calibrated, request(rounds=2))
    scores = shown(document)
    assert len(scores) == sum(len(one["candidates"]) for one in document["rounds"]) > 0
    assert all(one["passed"] for one in scores)
    assert all("held-out AUC" in one["reason"] and "it accepts and refuses nothing" in one["reason"] for one in scores)


def test_of_several_candidates_the_one_with_the_better_score_is_built(calibrated: Installation) -> None:
    # by the recorded verdicts replay helps and a high learning rate harms; the operator would have it the other way
    worse, better = plan(0.0, 0.004), plan(0.7, 0.0005)
    with ScriptedServer(Strong([submit(worse, better)], [verdict()])) as server:
        dry.add(calibrated, server, "strong", Use.OPERATOR, Use.AUDITOR, max_tokens=512)
        options = {"operator": "agent", "auditors": PANEL}
        document = carry(calibrated, request(rounds=1, options=options))
    built = document["rounds"][0]["candidates"]
    assert [one["proposal"]["plan"]["replay_share"] for one in built] == [0.7]


def scored(home: Installation, number: int, value: float) -> None:
    """A round as a run leaves it: kept on a screen, scored, and nothing ever certified."""
    name = f"r{number}c1"
    with home.database.write() as tx:
        rounds.begin(tx, "t-1", number + 100)
        proposal = {"plan": {}, "diff": "", "rationale": {}, "interventions": []}
        candidates.put(tx, "t-1", name, round=number, proposal=proposal, fingerprint=name)
        candidates.update(tx, "t-1", name, decision="reverted", screen={"estimate": 0.05})
        reviews.put(tx, "t-1", name, "rationale", passed=True, reason="fine")
        phases.add(tx, "t-1", number, "screen", name, {"refused": [], "soft": {"value": value}})


@pytest.mark.parametrize(("slope", "alarmed"), [(0.05, True), (0.0, False)])
def test_scores_that_rise_while_nothing_is_certified_raise_the_alarm(
    tmp_path: Path, slope: float, alarmed: bool
) -> None:
    home = installation(tmp_path)
    for number in range(1, 13):
        scored(home, number, 0.3 + slope * number)
    with home.database.read() as tx:
        event = soft_score.alarm(tx, "t-1", 12)
    assert (event is not None) is alarmed
    if event is not None:
        assert event.data == {"alarm": "drift"}
        assert "soft scores drift" in event.text
