from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from everloop.errors import InvalidRequest, SupplyExhausted
from everloop.evidence.constraints import FailureRate, FamilyFloor, RuleCheck
from everloop.evidence.gates.registry import gate_to_json, make_gate
from everloop.evidence.protocol import EvaluationProtocol
from everloop.evidence.score import Change, Score
from everloop.evidence.sets import SETS, SetUse, check_supply, set_of, share
from everloop.evidence.tally import Tally

PROTOCOL = EvaluationProtocol(
    domain="d",
    families=("a", "b", "c"),
    judge="exact",
    judge_version="1",
    verifier="hard",
    seed=1,
    diag_per_family=64,
    admission_n=100,
    dev_n=400,
    dev_use_cap=20,
    certify_pairs=2000,
    blind_n=2000,
    calib_n=100,
    eval_limit=4000,
    gate=gate_to_json(make_gate("two_line", setting="model")),
    setting="model",
    floor=0.05,
    rule_share=0.9,
    trainer="nano",
    rounds=6,
    collect_tasks=250,
    starter_rows=1500,
    auditors=("contamination", "regression"),
)


def test_every_item_has_one_set_in_the_documented_shares() -> None:
    assert sum(map(share, SETS)) == 1
    n = 20_000
    found = Counter(set_of(hashlib.sha256(str(i).encode()).hexdigest()) for i in range(n))
    for name in SETS:
        assert found[name] / n == pytest.approx(share(name), abs=0.015)
    assert set_of("0" * 64) == SETS[0]
    assert set_of("f" * 64) == SETS[-1]


def test_a_dev_set_retires_at_its_cap() -> None:
    use = SetUse("dev", 60, uses=19)
    assert not use.retired
    assert use.used().retired


def test_a_protocol_that_could_run_dry_is_refused() -> None:
    check_supply(PROTOCOL.needs(6), {"a": 100_000})
    with pytest.raises(SupplyExhausted, match="certify items of family small"):
        check_supply({"certify": 700}, {"large": 100_000, "small": 1000})


def test_a_protocol_survives_json_and_refuses_what_it_does_not_know() -> None:
    document = PROTOCOL.to_json()
    assert EvaluationProtocol.from_json(document, PROTOCOL.sha256) == PROTOCOL
    assert replace(PROTOCOL, seed=2).sha256 != PROTOCOL.sha256
    with pytest.raises(InvalidRequest, match="extra"):
        EvaluationProtocol.from_json({**document, "extra": 1})
    with pytest.raises(InvalidRequest, match="changed"):
        EvaluationProtocol.from_json({**document, "seed": 2}, PROTOCOL.sha256)


@pytest.mark.parametrize("n", [25, 50, 200])
def test_the_floor_hardly_ever_stops_an_equal_candidate(n: int) -> None:
    rng, floor = np.random.default_rng(1), FamilyFloor()
    equal = [Tally(*(int(one) for one in rng.multinomial(n, [0.1, 0.1, 0.4, 0.4]))) for _ in range(1000)]
    assert sum(bool(floor.judge({"plus": tally})) for tally in equal) <= 20


@pytest.mark.parametrize("n", [25, 50, 200])
def test_the_floor_always_stops_a_family_seen_to_fall_from_full_marks_to_under_a_half(n: int) -> None:
    for lost in range(n // 2 + 1, n + 1):
        assert FamilyFloor().judge({"minus": Tally(0, lost, n - lost)})


def test_a_true_collapse_is_stopped_with_25_items_but_for_rare_luck() -> None:
    lost = np.random.default_rng(1).binomial(25, 0.55, size=2000)
    stopped = [bool(FamilyFloor().judge({"minus": Tally(0, int(one), 25 - int(one))})) for one in lost]
    assert np.mean(stopped) > 0.99


def test_a_family_without_pairs_is_not_judged() -> None:
    assert FamilyFloor().judge({"a": Tally(candidate_missing=9)}) == []


def test_failures_and_form_are_bounded() -> None:
    assert FailureRate(0.05).judge(5, 0, 100) is None
    assert FailureRate(0.05).judge(6, 0, 100) is not None
    assert RuleCheck().judge(90, 100) is None
    assert RuleCheck().judge(89, 100) is not None


def test_a_score_of_nothing_is_missing_not_zero() -> None:
    assert Score.of([None, None]) == Score(None, None, None, 0, 2)
    assert Score.of([]).mean is None


def test_a_score_carries_wilsons_interval() -> None:
    score = Score.of([True] * 8 + [False] * 2 + [None])
    assert (score.mean, score.n, score.missing) == (0.8, 10, 1)
    assert score.low == pytest.approx(0.4902, abs=1e-4)
    assert score.high == pytest.approx(0.9433, abs=1e-4)
    assert Score.of([False] * 10).low == 0
    assert Score.of([True] * 10).high == 1


def test_a_change_holds_its_mean() -> None:
    change = Change.of(Tally(30, 10, 30, 30))
    assert change.mean == pytest.approx(0.2)
    assert change.low is not None and change.high is not None
    assert change.low < 0.2 < change.high
    assert Change.of(Tally()).mean is None
