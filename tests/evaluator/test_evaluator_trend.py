"""The drift alarm: it fires on scores without substance, and on little else."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from everloop.evaluator import RoundOutcome, drift


def rounds(
    scores: Sequence[float | None],
    estimates: Sequence[float | None],
    certified: Sequence[int] = (),
    rejected: int = 0,
) -> list[RoundOutcome]:
    return [
        RoundOutcome(number, score, estimate, number in certified, 3, rejected)
        for number, (score, estimate) in enumerate(zip(scores, estimates, strict=True), 1)
    ]


def rising(random: Random, n: int = 12) -> list[float]:
    return [0.4 + 0.04 * place + random.gauss(0, 0.03) for place in range(n)]


def flat(random: Random, n: int = 12) -> list[float]:
    return [0.5 + random.gauss(0, 0.1) for _ in range(n)]


def around_zero(random: Random, n: int = 12) -> list[float]:
    return [random.gauss(0, 0.01) for _ in range(n)]


def test_rising_scores_without_substance_raise_the_alarm() -> None:
    fired = [drift(rounds(rising(random), around_zero(random))) for random in map(Random, range(200))]
    assert sum(one is not None for one in fired) >= 140
    told = next(one for one in fired if one)
    assert "rounds 1 to 12" in told and "nothing was certified" in told and "el evaluator calibrate" in told


def test_asked_every_round_it_misses_few() -> None:
    fired = 0
    for seed in range(60):
        random = Random(seed)
        history = rounds(rising(random, 24), around_zero(random, 24))
        fired += any(drift(history[:number]) for number in range(1, 25))
    assert fired >= 54


def test_honest_progress_raises_none() -> None:
    for seed in range(200):
        random = Random(seed)
        assert drift(rounds(rising(random), [0.02 + random.gauss(0, 0.01) for _ in range(12)])) is None


def test_a_certified_version_is_substance() -> None:
    scores, estimates = rising(Random(1)), [0.0] * 12
    assert drift(rounds(scores, estimates)) is not None
    assert drift(rounds(scores, estimates, certified=[6])) is None


def test_a_version_certified_before_the_window_is_none() -> None:
    scores, estimates = [0.4, *rising(Random(1))], [0.02, *[0.0] * 12]
    assert drift(rounds(scores, estimates, certified=[1])) is not None


def test_noise_seldom_raises_it() -> None:
    fired = sum(drift(rounds(flat(random), around_zero(random))) is not None for random in map(Random, range(1000)))
    assert fired <= 20, f"{fired} of 1000 windows of noise"


def test_asked_every_round_of_a_long_run_noise_seldom_raises_it() -> None:
    fired = 0
    for seed in range(60):
        random = Random(seed)
        history = rounds(flat(random, 30), around_zero(random, 30))
        fired += any(drift(history[:number]) for number in range(1, 31))
    assert fired <= 12, f"{fired} of 60 runs of 30 rounds"


def test_falling_and_constant_scores_raise_none() -> None:
    random = Random(1)
    assert drift(rounds(rising(random)[::-1], around_zero(random))) is None
    assert drift(rounds([0.7] * 12, around_zero(random))) is None


@pytest.mark.parametrize("n", [0, 1, 7])
def test_little_history_raises_none(n: int) -> None:
    assert drift(rounds(sorted(rising(Random(1), n)), [0.0] * n)) is None


def test_rounds_without_a_score_are_passed_over() -> None:
    random = Random(1)
    scores = [score for one in rising(random) for score in (one, None)]
    assert drift(rounds(scores, [0.0] * 24)) is not None
    assert drift(rounds([None] * 24, [0.0] * 24)) is None


def test_gains_that_were_not_measured_are_no_substance() -> None:
    told = drift(rounds(rising(Random(1)), [None] * 12))
    assert told is not None and "no gain of theirs was measured" in told
