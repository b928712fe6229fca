"""The penalty for changes that are hardly any, ranking, abstention, features."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from records import prompt_plan, proposal, tiny, training_plan

from everloop.evaluator import Calibration, Candidate, Evaluator, load
from everloop.evaluator.base import Floats
from everloop.evaluator.calibration import penalty_of
from everloop.evaluator.features import FIELDS, NAMES, WORDS, vectors
from everloop.evaluator.figures import area, auc, brier
from everloop.evaluator.preference import Model
from everloop.evaluator.report import Report
from everloop.evaluator.significance import FREE, penalty
from everloop.operators.similarity import NEAR
from everloop.store.database import Database

shares = some.floats(0, 1, allow_nan=False)
WIDTH = len(NAMES) + FIELDS + WORDS


def fixed(name: str) -> Evaluator:
    """An evaluator whose chance rises with one figure alone."""
    weights = np.zeros(WIDTH)
    weights[NAMES.index(name)] = 1.0
    model = Model(np.zeros(WIDTH), np.ones(WIDTH), weights, 0.0, 1.0, 0.0, 1.0, None)
    return Evaluator(Calibration(model, Report(n=50)))


@given(shares, shares)
def test_the_penalty_never_rises_with_similarity(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0.0 <= penalty(high) <= penalty(low) <= 1.0


def test_the_penalty_spans_from_free_to_the_hard_rule() -> None:
    assert penalty(FREE) == 1.0 and penalty(NEAR) == 0.0 and penalty((FREE + NEAR) / 2) == pytest.approx(0.5)


@settings(max_examples=40, deadline=None)
@given(some.floats(1.0, 3.0), some.floats(1.0, 3.0), some.integers(0, 1000))
def test_the_nearer_to_the_head_the_lower_the_score(one: float, other: float, seed: int) -> None:
    random = Random(seed)
    head = training_plan(random)
    near, far = sorted((one, other))

    def score(factor: float) -> float:
        plan = replace(head, settings=replace(head.settings, learning_rate=head.settings.learning_rate * factor))
        return penalty_of(Candidate(proposal(plan, Random(1)), head))

    assert score(near) <= score(far)


def test_a_swapped_word_scores_next_to_nothing() -> None:
    random = Random(1)
    for _ in range(10):
        head = prompt_plan(random)
        found = fixed("words_of_why").score(Candidate(proposal(tiny(head, random), random), head))
        assert found.raw is not None and found.raw > 0.5
        assert found.value is not None and found.value < 0.05


def test_a_refused_plan_is_penalised_like_the_head() -> None:
    random = Random(3)
    plan = training_plan(random)
    assert penalty_of(Candidate(proposal(plan, random), None)) == 1.0
    assert penalty_of(Candidate(proposal(plan, random), None, (plan,))) == 0.0


def test_the_value_is_the_chance_times_the_penalty() -> None:
    random = Random(3)
    found = fixed("families").score(Candidate(proposal(training_plan(random), random), None))
    assert found.value == found.raw and found.penalty == 1.0 and found.abstained == ""
    assert found.to_json()["n"] == 50


def test_ranks_best_first_and_equals_in_the_operators_order() -> None:
    random = Random(5)
    plans = [replace(training_plan(random), families=names) for names in (("a",), ("a", "b", "c"), ("b",), ("a", "b"))]
    assert fixed("families").rank([Candidate(proposal(plan, random), None) for plan in plans]) == [1, 3, 0, 2]


def test_an_installation_that_was_never_calibrated_abstains(database: Database) -> None:
    random = Random(5)
    candidates = [Candidate(proposal(training_plan(random), random), None) for _ in range(4)]
    with database.read() as tx:
        evaluator = load(tx)
    found = evaluator.score(candidates[0])
    assert found.value is None and found.raw is None and "el evaluator calibrate" in found.abstained and found.n == 0
    assert evaluator.rank(candidates) == [0, 1, 2, 3]


def test_features_are_finite_and_of_one_width_for_every_kind_of_plan() -> None:
    random = Random(9)
    plans = [training_plan(random), prompt_plan(random)]
    made = [
        Candidate(proposal(plan, random, diff=diff), head)
        for plan in plans
        for head in (None, *plans)
        for diff in ("", "+ a\n- b", "--- x\n+++ y\n" + "+ z\n" * 5000)
    ]
    found = vectors(made)
    assert found.shape == (len(made), WIDTH) and np.isfinite(found).all()
    assert vectors([]).shape == (0, WIDTH)


@settings(max_examples=50, deadline=None)
@given(some.text(max_size=200), some.text(max_size=200))
def test_any_text_has_features(diff: str, words: str) -> None:
    made = proposal(training_plan(Random(1)), Random(1), diff=diff)
    parts = ("what", "why", "expected_gain", "risks")
    assert np.isfinite(vectors([Candidate(made | {"rationale": dict.fromkeys(parts, words)}, None)])).all()


def test_another_seed_is_no_other_candidate_to_the_features() -> None:
    plan = training_plan(Random(1))
    both = [Candidate(proposal(one, Random(2), diff="x"), None) for one in (plan, replace(plan, seed_salt=99))]
    found: Floats = vectors(both)
    assert (found[0] == found[1]).all()


@given(some.lists(some.tuples(some.integers(0, 5), some.booleans()), min_size=2, max_size=40))
def test_the_area_is_the_share_of_pairs_in_order(pairs: list[tuple[int, bool]]) -> None:
    good, bad = [s for s, g in pairs if g], [s for s, g in pairs if not g]
    scores, truth = np.array([float(s) for s, _ in pairs]), [g for _, g in pairs]
    if not good or not bad:
        with pytest.raises(ValueError, match="both classes"):
            auc(scores, truth)
        return
    share = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in good for b in bad) / (len(good) * len(bad))
    assert auc(scores, truth) == pytest.approx(share)


def test_the_interval_holds_the_area_and_draws_runs_where_there_are_enough() -> None:
    random = np.random.default_rng(1)
    truth = list(random.random(60) < 0.5)
    scores = np.array([random.normal(1.0 if one else 0.0) for one in truth])
    few, many = area(scores, truth, ["a", "b"] * 30), area(scores, truth, [str(n // 6) for n in range(60)])
    assert few.drawn == "verdicts" and many.drawn == "runs"
    assert few.low < few.value < few.high and many.low < many.value < many.high


def test_brier_score() -> None:
    assert brier(np.array([1.0, 0.0, 0.5]), [True, False, True]) == pytest.approx(0.25 / 3)
