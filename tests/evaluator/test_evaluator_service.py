"""Use cases and commands of the soft score, on a whole installation."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result
from records import fill, proposal, training_plan

from everloop.cli.evaluator import evaluator
from everloop.errors import InvalidRequest, RunNotFound
from everloop.evaluator import load
from everloop.service import Installation, open_installation
from everloop.service.evaluator import import_labels, label, recalibrate, report
from everloop.store import labels
from everloop.store.labels import LabelRow


@pytest.fixture
def installation() -> Installation:
    opened = open_installation()
    yield opened
    opened.close()


def el(*arguments: str) -> Result:
    return CliRunner().invoke(evaluator, list(arguments), catch_exceptions=False)


def stored(installation: Installation) -> list[LabelRow]:
    with installation.database.read() as tx:
        return labels.newest(tx, 100)


def change(good: bool = False, seed: int = 1) -> str:
    return json.dumps({"proposal": proposal(training_plan(Random(seed)), Random(seed)), "good": good})


def test_on_an_empty_installation_it_abstains_and_says_what_is_needed() -> None:
    for arguments in (["calibrate"], ["report"]):
        done = el(*arguments)
        assert done.exit_code == 0 and "40 more verdicts are needed" in done.output and "—" in done.output
    document = json.loads(el("calibrate", "--json").output)
    assert document["needed"] == 40 and document["auc"] is None and document["imported"] is None


def test_report_before_the_first_calibration_has_no_id(installation: Installation) -> None:
    fill(installation.database, 8, signal=3.0)
    found = report(installation)
    assert found["id"] is None and found["n"] == 64 and "never calibrated" in str(found["abstained"])


def test_a_calibration_is_in_force_until_the_next(installation: Installation) -> None:
    fill(installation.database, 24, signal=3.0, seed=2)
    made = recalibrate(installation)
    assert made["abstained"] == "" and report(installation)["id"] == made["id"]
    with installation.database.read() as tx:
        assert load(tx).abstains == ""
    shown = el("report").output
    assert "area under the curve" in shown and f"n={made['held_out_n']}" in shown and "identical plan" in shown
    assert json.loads(el("report", "--json").output)["auc"] == made["auc"]


def test_without_scikit_learn_the_calibration_in_force_stays(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(installation.database, 24, signal=3.0, seed=2)
    first = recalibrate(installation)
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    done = el("calibrate")
    assert done.exit_code == 0 and "scikit-learn is not installed" in done.output
    assert report(installation)["id"] == first["id"]


def test_a_label_takes_the_place_of_a_verdict(installation: Installation) -> None:
    fill(installation.database, 1, signal=3.0)
    before = report(installation)
    for number in range(1, 9):
        done = el("label", "run-0-0", f"r{number}c1", "--good", "--author", "ann")
        assert done.exit_code == 0 and "labelled good by ann" in done.output
    after = report(installation)
    assert (after["n"], after["positives"], after["labels"]) == (before["n"], 8, 8)
    label(installation, "run-0-0", "r1c1", good=False)
    assert report(installation)["positives"] == 7


@pytest.mark.parametrize(("run", "candidate"), [("run-0-0", "r99c1"), ("none", "r1c1")])
def test_only_a_recorded_candidate_can_be_labelled(installation: Installation, run: str, candidate: str) -> None:
    fill(installation.database, 1, signal=3.0)
    with pytest.raises(RunNotFound):
        label(installation, run, candidate, good=True)
    with pytest.raises(InvalidRequest, match="line 1"):
        import_labels(installation, [json.dumps({"run": run, "candidate": candidate, "good": True})])
    assert stored(installation) == []


def test_a_label_needs_a_side() -> None:
    assert el("label", "r", "r1c1").exit_code == 2


def test_labels_of_a_file_are_read_once(installation: Installation, tmp_path: Path) -> None:
    fill(installation.database, 1, signal=3.0)
    lines = [change(), change(seed=2), "", json.dumps({"run": "run-0-0", "candidate": "r1c1", "good": True})]
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert "labels: 3 read, 3 new" in el("calibrate", "--labels", str(path), "--author", "ann").output
    assert json.loads(el("calibrate", "--labels", str(path), "--json").output)["imported"] == {"read": 3, "added": 0}
    assert [(one.source, one.author) for one in stored(installation)] == [("file", "ann")] * 2 + [("human", "ann")]
    assert report(installation)["n"] == 10


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        "{}",
        '{"good": 1, "run": "r", "candidate": "c"}',
        '{"good": true}',
        '{"good": true, "proposal": {}}',
        '{"good": true, "run": 1, "candidate": "c"}',
        '{"good": true, "run": "r", "candidate": "c", "more": 1}',
        '{"good": true, "proposal": {"plan": {"kind": "prompt"}, "diff": "", "rationale": {}, "interventions": []}}',
        '{"good": true, "proposal": {"plan": {}, "diff": "", "rationale": {}, "interventions": [1]}}',
        '{"good": true, "proposal": {"plan": {"kind": "training", "families": 3}, "diff": "", "rationale": {}}}',
        '{"good": true, "proposal": {"plan": [], "diff": "", "rationale": {}, "interventions": []}}',
    ],
)
def test_a_line_that_is_no_label_refuses_the_whole_file(installation: Installation, line: str) -> None:
    with pytest.raises(InvalidRequest, match="line 2 of the labels"):
        import_labels(installation, [change(), line])
    assert stored(installation) == []
