from __future__ import annotations

import pytest

from everloop.errors import InvalidRequest
from everloop.evidence.gates.base import Gate, GateState, Ruling
from everloop.evidence.gates.registry import GATES, gate_from_json, gate_to_json, make_gate
from everloop.evidence.tally import Tally


@pytest.mark.parametrize("setting", ["agent", "model"])
@pytest.mark.parametrize("name", GATES)
def test_a_gate_survives_json(name: str, setting: str) -> None:
    gate = make_gate(name, setting=setting, dev_n=80, eval_limit=1000)
    assert gate_from_json(gate_to_json(gate)) == gate
    assert gate.max_pairs() <= 500


def test_an_unknown_gate_is_named_with_the_known() -> None:
    with pytest.raises(InvalidRequest, match="two_line"):
        make_gate("best")


def test_two_line_drops_early_unless_ahead() -> None:
    gate = make_gate("two_line")
    assert gate.screen(gate.start(), Tally(), 0.5).more == 20
    assert gate.screen(gate.start(), Tally(2, 2, 8, 8), 0.5).ruling is Ruling.DROP
    assert gate.screen(gate.start(), Tally(3, 2, 8, 7), 0.5).more == 40


def test_two_line_asks_for_less_near_the_ceiling() -> None:
    gate = make_gate("two_line")
    ahead = Tally(1, 0, 59)
    assert gate.screen(gate.start(), ahead, 0.5).ruling is Ruling.DROP
    assert gate.screen(gate.start(), ahead, 0.98).ruling is Ruling.MOVE


@pytest.mark.parametrize(
    ("state", "last", "wanted"),
    [
        (GateState(), True, False),
        (GateState(moves=1, gain=0.1, largest=0.1), False, False),
        (GateState(moves=1, gain=0.1, largest=0.1), True, True),
        (GateState(moves=8, gain=0.4, largest=0.1), False, True),
        (GateState(moves=1, gain=0.2, largest=0.2), False, True),
        (GateState(moves=5, gain=0.6, largest=0.15), False, True),
    ],
)
def test_two_line_certifies_when_enough_has_gathered(state: GateState, last: bool, wanted: bool) -> None:
    assert make_gate("two_line").wants_certification(state, last=last) is wanted


def test_the_model_setting_screens_everything_and_certifies_each_move() -> None:
    gate = make_gate("two_line", setting="model", dev_n=400)
    assert gate.screen(gate.start(), Tally(), 0.5).more == 400
    assert gate.wants_certification(GateState(moves=1), last=False)


@pytest.mark.parametrize("name", ["two_line", "eprocess", "elond", "screen_blind"])
def test_a_certification_ends_in_each_way(name: str) -> None:
    gate = make_gate(name)
    state, most = gate.start(), gate.max_pairs()
    assert gate.certify(state, Tally(), 0.5).ruling is Ruling.MORE
    assert gate.certify(state, Tally(40, 0, 20, 20), 0.5).ruling is Ruling.SHOWN
    assert gate.certify(state, Tally(0, 40, 20, 20), 0.5).ruling is Ruling.FUTILE
    assert gate.certify(state, Tally(0, 0, 0, 0, most), 0.5).ruling is Ruling.BUDGET


def test_failures_never_win() -> None:
    """Items that only the baseline failed are no wins for the candidate."""
    tally = Tally.of([True] * 100, [None] * 50 + [True] * 50)
    for name in GATES:
        gate: Gate = make_gate(name)
        ruling = gate.screen(gate.start(), tally, 0.5).ruling
        assert ruling is not Ruling.MOVE or gate.dev_n == 0
        if gate.max_pairs():
            assert gate.certify(gate.start(), tally, 0.5).ruling is not Ruling.SHOWN


def test_elond_levels_fall_with_attempts_and_rise_with_claims() -> None:
    gate = make_gate("elond")
    pairs = Tally(60, 20, 60, 60)
    first, later, after = (
        gate.certify(state, pairs, 0.5).threshold or 0.0
        for state in (GateState(), GateState(attempts=9), GateState(attempts=9, shown=4))
    )
    assert later > first
    assert after < later


@pytest.mark.parametrize(("tally", "taken"), [(Tally(11, 10, 40, 39), True), (Tally(10, 10, 40, 40), False)])
def test_greedy_takes_any_lead(tally: Tally, taken: bool) -> None:
    gate = make_gate("greedy")
    assert (gate.screen(gate.start(), tally, 0.5).ruling is Ruling.MOVE) is taken


def test_relative_asks_for_three_per_cent() -> None:
    gate = make_gate("relative")
    assert gate.screen(gate.start(), Tally(11, 10, 40, 39), 0.5).ruling is Ruling.DROP
    assert gate.screen(gate.start(), Tally(12, 10, 40, 38), 0.5).ruling is Ruling.MOVE


@pytest.mark.parametrize("setting", ["agent", "model"])
@pytest.mark.parametrize("dev_n", [1, 8, 19, 20, 21, 60, 400])
@pytest.mark.parametrize("name", GATES)
def test_a_screen_never_asks_for_more_than_its_dev_set(name: str, dev_n: int, setting: str) -> None:
    gate = make_gate(name, setting=setting, dev_n=dev_n)
    asked = 0
    while (verdict := gate.screen(gate.start(), Tally(wins=asked), 0.5)).ruling is Ruling.MORE:
        assert 0 < verdict.more <= (gate.dev_n or dev_n) - asked
        asked += verdict.more
