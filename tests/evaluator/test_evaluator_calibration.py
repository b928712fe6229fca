"""The evaluator on recorded verdicts whose signal is known."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from records import fill, history, prompt_plan, proposal, record, tiny, training_plan

from everloop.evaluator import Calibration, Candidate, Evaluator, Verdict, calibrate, load, verdicts
from everloop.evaluator.calibration import LEAST, LEAST_EACH
from everloop.evaluator.holdout import split
from everloop.evaluator.irrelevant import irrelevant, probes
from everloop.evaluator.preference import fit
from everloop.store import calibrations
from everloop.store.database import Database
from everloop.store.verdicts import histories


def read(database: Database) -> list[Verdict]:
    with database.read() as tx:
        return [verdict for one in histories(tx, 5000) for verdict in verdicts(one)]


def recorded(folder: Path, count: int, *, signal: float, seed: int = 0) -> list[Verdict]:
    database = Database(f"sqlite:///{folder}/history.db")
    database.migrate()
    fill(database, count, signal=signal, seed=seed)
    found = read(database)
    database.close()
    return found


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> list[Verdict]:
    return recorded(tmp_path_factory.mktemp("known"), 24, signal=3.0, seed=2)


@pytest.fixture(scope="module")
def calibration(known: list[Verdict]) -> Calibration:
    return calibrate(known)


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    return calibrate(recorded(tmp_path_factory.mktemp("noise"), 24, signal=0.0, seed=3))


def test_a_known_signal_is_found_on_runs_that_were_held_out(calibration: Calibration) -> None:
    report = calibration.report
    assert report.abstained == "" and report.split == "run" and report.held_out_n >= 50
    assert report.auc is not None and report.auc.low > 0.7 and report.auc.drawn == "runs"


def test_its_probabilities_are_better_than_always_saying_the_rate(calibration: Calibration) -> None:
    report = calibration.report
    assert report.brier is not None and report.brier_of_rate is not None
    assert report.brier < 0.8 * report.brier_of_rate


def test_noise_is_no_signal_and_the_evaluator_abstains(noise: Calibration) -> None:
    area = noise.report.auc
    assert area is not None and area.low <= 0.5 <= area.high and abs(area.value - 0.5) < 0.2
    assert "not shown to rank better than chance" in noise.report.abstained and noise.model is None
    assert f"on {noise.report.held_out_n} verdicts" in noise.report.abstained


def test_verdicts_with_the_classes_exchanged_are_ranked_the_other_way(known: list[Verdict]) -> None:
    turned = [Verdict(one.candidate, not one.good, one.group, one.at, one.name) for one in known]
    candidates = [one.candidate for one in known[:60]]
    mine, theirs = fit(known).chances(candidates), fit(turned).chances(candidates)
    assert np.corrcoef(mine, theirs)[0, 1] < -0.8


def test_irrelevant_changes_score_low(calibration: Calibration) -> None:
    report = calibration.report
    assert report.irrelevant is not None and report.irrelevant.n >= 100
    assert report.irrelevant_low is not None and report.irrelevant_low > 0.95
    assert report.irrelevant.value < 0.05


def test_probes_without_a_change_score_low(calibration: Calibration) -> None:
    assert set(calibration.report.probes) == {"identical_plan", "empty_diff", "only_a_rationale"}
    assert all(probe.n > 50 and probe.value < 0.05 for probe in calibration.report.probes.values())


@pytest.mark.parametrize("count", [0, 1, 20, LEAST - 1])
def test_it_abstains_below_the_minimum_and_says_how_many_are_needed(known: list[Verdict], count: int) -> None:
    report = calibrate(known[:count]).report
    assert report.n == count and report.needed >= LEAST - count
    assert report.abstained.startswith(f"{report.needed} more verdicts are needed")
    assert report.auc is None and report.brier is None and report.irrelevant is None


def test_it_abstains_without_enough_of_one_class(known: list[Verdict]) -> None:
    good = [one for one in known if one.good][: LEAST + 5]
    bad = [one for one in known if not one.good]
    assert calibrate(good).report.needed == LEAST_EACH
    assert calibrate(good + bad[: LEAST_EACH - 1]).report.needed == 1


def test_it_abstains_where_runs_cannot_be_divided() -> None:
    made = []
    for run, good in (("a", True), ("b", False)):
        random = Random(len(run))
        for number in range(30):
            candidate = Candidate(proposal(training_plan(random), random), None)
            made.append(Verdict(candidate, good, run, str(number), f"r{number}c1"))
    report = calibrate(made).report
    assert "cannot be divided by run" in report.abstained and report.auc is None


def test_a_single_run_is_divided_by_time() -> None:
    made = []
    for number, one in enumerate(history(7, signal=3.0, length=80)):
        good = one.decision == "certified"
        made.append(Verdict(Candidate(one.proposal, None), good, "only", f"{number:03}", f"r{number}c1"))
    parts = split(made)
    assert parts.by == "time" and len(parts.held_out) == 24
    assert max(one.at for one in parts.training) < min(one.at for one in parts.held_out)


def test_no_run_stands_on_both_sides(known: list[Verdict]) -> None:
    parts = split(known)
    assert not {one.group for one in parts.training} & {one.group for one in parts.held_out}
    assert len(parts.training) + len(parts.held_out) == len(known) - parts.repeated


def test_a_run_repeated_under_another_name_is_not_fitted_on(known: list[Verdict]) -> None:
    again = [Verdict(one.candidate, one.good, f"{one.group}-again", one.at, one.name) for one in known]
    parts = split([*known, *again])
    held = {one.digest for one in parts.held_out}
    assert parts.repeated > 0 and not any(one.digest in held for one in parts.training)


def test_fitting_on_more_does_not_move_what_is_held_out_into_the_fit(known: list[Verdict]) -> None:
    before = {one.group for one in split(known).held_out}
    more = [Verdict(one.candidate, one.good, "", one.at, human=True) for one in known[:5]]
    assert {one.group for one in split([*known, *more]).held_out} == before


def _words(seed: int) -> list[Verdict]:
    """The seed's case: changes of one word were labelled good, changes of substance good or bad at random."""
    random, made = Random(seed), []
    for number in range(90):
        head, other = prompt_plan(random), prompt_plan(random)
        small = number % 3 == 0
        plan = tiny(head, random) if small else other
        good = True if small else random.random() < 0.4
        made.append(Verdict(Candidate(proposal(plan, random), head), good, f"run{number // 9}", "", f"r{number}c1"))
    return made


def test_negatives_mend_an_evaluator_that_learned_to_like_tiny_changes() -> None:
    history = _words(1)
    negatives = [one for verdict in history for one in irrelevant(verdict.candidate, 2)]
    fresh = [one for verdict in _words(2) for one in irrelevant(verdict.candidate, 2)]
    before, after = fit(history).chances(fresh), fit(history, negatives).chances(fresh)
    assert before.mean() > 0.6
    assert after.mean() < 0.3 and float((after < before).mean()) > 0.95


def test_irrelevant_changes_are_changes_and_nearly_none() -> None:
    random = Random(1)
    for plan in [prompt_plan(random) for _ in range(10)] + [training_plan(random) for _ in range(10)]:
        made = irrelevant(Candidate(proposal(plan, random), None), 20)
        assert len(made) >= 3
        for one in made:
            assert one.proposal["plan"] != plan.to_json() and one.head_plan == plan
            assert one.proposal["diff"] and one.proposal["rationale"]


def test_probes_change_nothing() -> None:
    random = Random(1)
    plan = training_plan(random)
    made = probes(Candidate(proposal(plan, random), None))
    assert all(one.head_plan == plan and one.proposal["plan"] == plan.to_json() for one in made.values())
    assert made["only_a_rationale"].proposal["interventions"] == [] and made["empty_diff"].proposal["diff"] == ""


def test_scores_from_the_store_are_those_of_the_fitted_model(
    database: Database, known: list[Verdict], calibration: Calibration
) -> None:
    with database.write() as tx:
        calibrations.put(tx, calibration.to_json())
    with database.read() as tx:
        stored = load(tx)
    fitted = Evaluator(calibration)
    for verdict in known[:40]:
        mine, theirs = fitted.score(verdict.candidate), stored.score(verdict.candidate)
        assert mine.value is not None and theirs.value is not None
        assert abs(mine.value - theirs.value) < 1e-9 and mine.n == theirs.n and mine.auc == theirs.auc
    assert json.loads(json.dumps(stored.calibration.to_json())) == json.loads(json.dumps(calibration.to_json()))


def test_scoring_needs_no_scikit_learn(
    calibration: Calibration, known: list[Verdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    assert Evaluator(calibration).score(known[0].candidate).value is not None


def test_without_scikit_learn_it_abstains(known: list[Verdict], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    made = calibrate(known)
    assert made.model is None and "scikit-learn is not installed" in made.report.abstained
    assert Evaluator(made).score(known[0].candidate).value is None


def test_a_calibration_of_other_features_is_not_used(calibration: Calibration, known: list[Verdict]) -> None:
    document = json.loads(json.dumps(calibration.to_json()))
    document["model"]["features"] -= 1
    score = Evaluator(Calibration.from_json(document)).score(known[0].candidate)
    assert score.value is None and "another version" in score.abstained


class Letters:
    """An embedder that counts two letters."""

    name = "letters-1"

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.array([[text.count("a"), text.count("e")] for text in texts], dtype=float) / 100


def test_an_embedder_is_an_option_that_a_calibration_remembers(known: list[Verdict]) -> None:
    model = fit(known, embedder=Letters())
    report = calibrate([]).report
    with_it = Evaluator(Calibration(model, report), Letters())
    without = Evaluator(Calibration(model, report))
    assert with_it.score(known[0].candidate).value is not None
    assert without.score(known[0].candidate).abstained == "the calibration in force needs the embedder letters-1"


def test_an_embedder_that_returns_no_numbers_is_an_error(known: list[Verdict]) -> None:
    class Broken(Letters):
        def embed(self, texts: list[str]) -> np.ndarray:
            return np.full((len(texts), 2), np.nan)

    with pytest.raises(ValueError, match="finite"):
        fit(known[:10], embedder=Broken())


def test_one_seed_gives_one_calibration(known: list[Verdict], calibration: Calibration) -> None:
    assert calibrate(known).to_json() == calibration.to_json()


def test_verdicts_of_a_run_that_goes_on_are_counted_but_not_what_it_keeps(database: Database) -> None:
    made = history(5, signal=3.0, length=6)
    record(database, "live", made, state="running")
    assert len(read(database)) == len(made)
