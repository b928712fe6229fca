"""What a page begins with: nothing is called better that no gate has ruled on."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest

from everloop.language import ENGLISH
from everloop.report.verdict import verdict


def gate(kind: str = "final", **changes: Any) -> dict[str, Any]:
    figures = {"change": 0.205, "low": 0.19, "high": 0.22, "n": 2238, "mean": 0.994, "passed": True}
    control = {"control_mean": 0.93, "change_from_control": 0.064, "beats_control": True, "control_n": 2230}
    control |= {"control_low": 0.053, "control_high": 0.075}
    evidence = {"control_evidence": {"log_e": 66.7, "threshold": 5.3}}
    return {"gate": kind, "candidate": "v3", "baseline": "v0"} | figures | control | evidence | changes


def run(*gates: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"state": "finished", "mode": "live", "best_version": "v3", "gates": list(gates)} | changes


def test_a_passed_final_gate_is_the_only_way_to_be_confirmed() -> None:
    shown = verdict(run(gate()), ENGLISH)
    assert (shown.tone, shown.control_tone, shown.more) == ("good", "good", None)
    assert shown.claim == "v3 is confirmed better than v0 by 0.205 [0.190, 0.220] on 2,238 blind items."


def test_a_final_gate_that_did_not_pass_is_no_confirmation() -> None:
    shown = verdict(run(gate(passed=False, violations=["add3_carry fell by 0.080"])), ENGLISH)
    assert shown.tone == "warn"
    assert shown.claim.startswith("v3 is not confirmed: ")
    assert shown.claim.endswith("A constraint was broken: add3_carry fell by 0.080.")


def test_a_version_that_does_not_beat_longer_training_is_told_as_such() -> None:
    shown = verdict(run(gate(beats_control=False)), ENGLISH)
    assert (shown.tone, shown.control_tone) == ("good", "warn")
    assert "longer training alone may explain the gain" in str(shown.control)


def test_a_final_gate_holds_only_for_the_version_that_it_saw() -> None:
    shown = verdict(run(gate(), best_version="v5"), ENGLISH)
    assert shown.more == "v5 is the best version since then; no final gate has seen it."


def test_v0_as_the_best_version_is_nothing_shown() -> None:
    shown = verdict(run(gate(candidate="v0", passed=None, beats_control=None), best_version="v0"), ENGLISH)
    assert (shown.tone, shown.control) == ("", None)
    assert shown.claim.startswith("Nothing is shown: no version was certified, and v0 (0.994 on 2,238 blind items)")


def test_a_certification_is_no_confirmation() -> None:
    going_on = verdict(run(gate("certification", baseline="v2"), state="running"), ENGLISH)
    assert going_on.claim == "v3 is certified better than v2 by 0.205 [0.190, 0.220] on 2,238 fresh pairs."
    assert "not confirmed on blind items yet" in str(going_on.more)
    assert going_on.tone == "part"
    ended = verdict(run(gate("certification", baseline="v2"), state="stopped"), ENGLISH)
    assert "never confirmed" in str(ended.more)
    assert ended.control is None


def test_a_certification_that_failed_shows_nothing() -> None:
    assert verdict(run(gate("certification", passed=False), state="running"), ENGLISH).claim == "Nothing is shown yet."


@pytest.mark.parametrize(("state", "claim"), [("running", "Nothing is shown yet."), ("failed", "Nothing was shown.")])
def test_without_a_gate_nothing_is_shown(state: str, claim: str) -> None:
    assert verdict(run(state=state), ENGLISH).claim == claim


def test_evidence_has_the_digits_that_it_has_in_the_table_of_gates() -> None:
    assert "(log e 66.70, 5.30 needed, n=" in str(verdict(run(gate()), ENGLISH).control)


def test_what_a_gate_does_not_have_is_a_dash() -> None:
    shown = verdict(run({"gate": "final", "passed": True, "change": nan, "n": None}), ENGLISH)
    assert shown.claim == "— is confirmed better than — by — on — blind items."
    assert shown.control == "Nothing is known against the control arm: it was not compared."


def test_of_a_record_that_cannot_be_read_nothing_is_known() -> None:
    assert verdict({"state": "unreadable"}, ENGLISH).tone == "wrong"


@pytest.mark.parametrize(
    ("beats", "begins"),
    [(True, "Against the control arm, "), (False, "Nor is it shown to beat the control arm (0.930, n=2,230)")],
)
def test_without_a_confirmed_gain_the_control_arm_is_not_said_to_be_beaten_as_well(beats: bool, begins: str) -> None:
    shown = verdict(run(gate(passed=False, beats_control=beats)), ENGLISH)
    assert str(shown.control).startswith(begins)
    assert "also" not in str(shown.control) and "the gain" not in str(shown.control)
    assert shown.control_tone == "warn"


def test_the_control_arm_is_told_with_its_own_interval_and_pairs() -> None:
    assert "by 0.064 [0.053, 0.075] (" in str(verdict(run(gate()), ENGLISH).control)
    assert "n=2,230" in str(verdict(run(gate()), ENGLISH).control)
