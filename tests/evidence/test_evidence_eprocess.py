from __future__ import annotations

from fractions import Fraction
from math import comb, exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.evidence.eprocess import log_e
from everloop.evidence.futility import LAMBDAS, d_min, log_futility
from everloop.evidence.gates.mcnemar import midp
from everloop.evidence.tally import Tally

COUNT = st.integers(0, 400)


def exact(wins: int, losses: int) -> Fraction:
    """E by integers: 2 * B(w+1, l+1) * sum of C(n+1, k) for k <= w, over 2."""
    n = wins + losses
    beta = Fraction(1, (n + 1) * comb(n, wins))
    return beta * sum(comb(n + 1, k) for k in range(wins + 1))


@given(st.integers(0, 60), st.integers(0, 60))
def test_it_equals_exact_arithmetic(wins: int, losses: int) -> None:
    assert log_e(wins, losses) == pytest.approx(log(exact(wins, losses)), abs=1e-9)


@given(COUNT, COUNT)
def test_it_is_a_supermartingale_under_the_null(wins: int, losses: int) -> None:
    now, after = log_e(wins, losses), (log_e(wins + 1, losses), log_e(wins, losses + 1))
    assert 0.5 * exp(after[0] - now) + 0.5 * exp(after[1] - now) <= 1 + 1e-9


@given(COUNT, COUNT)
def test_it_grows_with_wins_and_shrinks_with_losses(wins: int, losses: int) -> None:
    assert log_e(wins + 1, losses) > log_e(wins, losses) > log_e(wins, losses + 1)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.005])
def test_it_is_valid_at_every_stopping_time(alpha: float) -> None:
    """Ville's bound for the best stopping rule, by dynamic programming over 300 discordant pairs."""
    alive, crossed = {0: 1.0}, 0.0
    for n in range(1, 301):
        following: dict[int, float] = {}
        for wins, chance in alive.items():
            for more in (0, 1):
                following[wins + more] = following.get(wins + more, 0.0) + chance / 2
        crossed += sum(following.pop(w) for w in list(following) if log_e(w, n - w) >= -log(alpha))
        alive = following
    assert 0 < crossed <= alpha


@given(st.permutations([True] * 12 + [False] * 7))
def test_it_ignores_order(order: list[bool]) -> None:
    tally = Tally()
    for won in order:
        tally += Tally.of([won], [not won])
    assert log_e(tally.wins, tally.losses) == log_e(12, 7)


def test_deep_tails_stay_exact() -> None:
    assert log_e(0, 3000) == pytest.approx(-log(3001), abs=1e-6)
    assert log_e(3000, 0) == pytest.approx(3001 * log(2) - log(3001), abs=1e-2)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        log_e(-1, 0)


@given(st.floats(0, 1))
def test_futility_is_a_martingale_where_the_gain_is_exactly_the_least(share: float) -> None:
    gain = 0.04
    win = gain + share * (1 - gain) / 2
    loss = win - gain
    expected = sum(
        chance * exp(log_futility(tally, gain))
        for chance, tally in ((win, Tally(1)), (loss, Tally(0, 1)), (1 - win - loss, Tally(0, 0, 1)))
    )
    assert expected == pytest.approx(1, abs=1e-9)
    assert len(LAMBDAS) == 6


def test_the_least_gain_shrinks_near_the_ceiling() -> None:
    assert d_min(0.5) == 0.04
    assert d_min(0.98) == pytest.approx(0.01)


def test_mid_p_is_a_half_without_information() -> None:
    assert midp(0, 0) == pytest.approx(0.5)
    assert midp(5, 5) == pytest.approx(0.5)
    assert midp(10, 0) == pytest.approx(0.5**11)
