from __future__ import annotations

import subprocess
import sys

import pytest

from everloop.evidence.gates.registry import make_gate
from everloop.evidence.planning import minimum_detectable_effect, worst_case
from everloop.evidence.selftest import resampled, selftest
from everloop.evidence.simulate import simulate_runs, simulate_steps


def test_the_same_seed_gives_the_same_figures() -> None:
    gate = make_gate("two_line")
    one, two, other = (simulate_runs(gate, budget=2000, reps=3, seed=seed) for seed in (1, 1, 2))
    assert one == two != other


def test_single_steps_reproduce_the_published_rates() -> None:
    """Bounds are over four standard errors wide at this size."""
    greedy = simulate_steps(make_gate("greedy"), rounds=1000, reps=3, seed=3)
    assert greedy.far == pytest.approx(0.349, abs=0.04)
    assert greedy.fdp == pytest.approx(0.80, abs=0.05)
    proven = simulate_steps(make_gate("eprocess"), rounds=1000, reps=1, seed=3)
    assert proven.far is not None and proven.far <= 0.006
    assert proven.power == pytest.approx(0.65, abs=0.2)


def test_two_line_claims_truth_and_ends_above_greedy() -> None:
    ours = simulate_runs(make_gate("two_line"), budget=10_000, reps=30, seed=5)
    greedy = simulate_runs(make_gate("greedy"), budget=10_000, reps=30, seed=5)
    assert ours.true_best == pytest.approx(0.836, abs=0.12)
    assert ours.false_claims is not None and ours.false_claims <= 0.03
    assert greedy.false_claims is not None and greedy.false_claims > 0.4


def test_a_gate_with_a_test_hardly_accepts_itself_and_greedy_does() -> None:
    assert (selftest(make_gate("eprocess"), reps=200, seed=1).false_accepts.mean or 0) <= 0.02
    assert (selftest(make_gate("greedy"), reps=200, seed=1).false_accepts.mean or 0) > 0.3


def test_recorded_outcomes_can_be_used_and_missing_ones_stay_missing() -> None:
    draw = resampled([True, None, False, True], [True, True, False, False], seed=1)
    tally = draw(400)
    assert tally.pairs + tally.candidate_missing + tally.baseline_missing == 400
    assert tally.candidate_missing and tally.baseline_missing
    found = selftest(make_gate("two_line"), reps=50, seed=1, draw=draw)
    assert (found.false_accepts.n, found.policy) == (50, "two_line")
    assert found.false_accepts.mean is not None and found.false_accepts.mean <= 0.06


@pytest.mark.parametrize(
    "call", [lambda g: simulate_steps(g, rounds=0, reps=1, seed=1), lambda g: selftest(g, reps=0, seed=1)]
)
def test_counts_must_be_positive(call: object) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        call(make_gate("greedy"))  # type: ignore[operator]


def test_more_pairs_detect_less() -> None:
    effects = [minimum_detectable_effect(make_gate("two_line", eval_limit=limit)) for limit in (4000, 1000)]
    assert effects[0] is not None and effects[1] is not None
    assert effects[0] < effects[1]
    assert minimum_detectable_effect(make_gate("greedy")) is None


def test_the_worst_cost_counts_everything() -> None:
    cost = worst_case(make_gate("two_line"), rounds=2, blind_n=100, job_usd=1.0)
    assert cost.evaluations == 2 * 2 * 60 + 2 * 4000 + 300
    assert cost.usd == 5.0


def test_the_import_is_light() -> None:
    code = (
        "import sys, everloop.evidence.simulate\nprint([m for m in ('scipy', 'torch', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
