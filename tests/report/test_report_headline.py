"""The first lines say what is shown, with interval and n, or that nothing is."""

from __future__ import annotations

from typing import Any

import pytest
from reported import document, final

from everloop.language import ENGLISH
from everloop.report.headline import headline


def told(**changes: Any) -> list[str]:
    return headline(document(**changes), ENGLISH)


def with_final(**changes: Any) -> list[str]:
    return told(gates=[final(**changes)])


def test_a_final_gate_that_passed_shows_the_gain_with_interval_n_and_evidence() -> None:
    first, second, *_ = told()
    assert first == "v3 is confirmed better than v0 by 0.185 [0.144, 0.226] on 400 blind items."
    assert second.startswith("On those items v3 scores 0.845") and "and v0 0.660 [0.612, 0.705]; " in second
    assert second.endswith("log e is 38.74 where 5.30 was needed.")


def test_a_final_gate_that_did_not_pass_shows_nothing() -> None:
    assert with_final(passed=False)[0].startswith("v3 is not confirmed: ")


def test_the_control_arm_comes_third() -> None:
    assert told()[2].startswith("It is also shown to beat the control arm")


def test_what_does_not_beat_the_control_arm_is_put_down_to_training_longer() -> None:
    third = with_final(beats_control=False)[2]
    assert third.startswith("It is not shown to beat the control arm") and "longer training alone may" in third


def test_without_a_control_arm_that_is_said() -> None:
    told = with_final(beats_control=None, control_mean=None, control_evidence=None)
    assert told[2] == "Nothing is known against the control arm: it was not compared."


def test_a_broken_constraint_is_named() -> None:
    told = with_final(passed=False, violations=["s1 fell by 0.200"])
    assert told[0].endswith("A constraint was broken: s1 fell by 0.200.")


def test_a_run_that_certified_nothing_shows_nothing() -> None:
    nothing = with_final(candidate="v0", passed=None, change=None, low=None, high=None, mean=0.66, baseline_mean=0.66)
    assert nothing[0].startswith("Nothing is shown: no version was certified, and v0 (0.660 on 400 blind items)")
    assert not any("On those items" in sentence for sentence in nothing)
    assert told(gates=[])[0] == "Nothing was shown."


def test_a_certification_alone_is_no_claim_against_v0_on_blind_items() -> None:
    gate = final(gate="certification", candidate="v1", change=0.1, low=0.05, high=0.15, n=200)
    first, second, third, *_ = told(gates=[gate])
    assert first == "v1 is certified better than v0 by 0.100 [0.050, 0.150] on 200 fresh pairs."
    assert second.startswith("On those items v1 scores ")
    assert third == "It was never confirmed on blind items: the run ended without a final gate."


def test_a_certification_that_failed_shows_nothing() -> None:
    assert told(gates=[final(gate="certification", passed=False)])[0] == "Nothing was shown."


def test_a_best_version_that_no_final_gate_has_seen_is_named() -> None:
    assert any("v4 is the best version since then" in sentence for sentence in told(best_version="v4"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "running"}, "The run is still going on, at round 3 of 3."),
        ({"state": "failed"}, "The run stands at round 3 of 3; its state is: failed."),
        ({"mode": "dry"}, "This was a dry run: nothing was trained"),
        ({"error": {"code": "BUDGET_EXHAUSTED", "message": "no money"}}, "BUDGET_EXHAUSTED, no money."),
    ],
)
def test_what_a_reader_must_know_before_quoting_it_follows(changes: dict[str, Any], words: str) -> None:
    assert any(words in sentence for sentence in told(**changes))


def test_a_finished_run_needs_no_word_on_its_state() -> None:
    assert not any("round 3 of 3" in sentence for sentence in told())


def test_the_bound_on_false_claims_is_told() -> None:
    assert told()[-1] == "The chance that any claim made so far is false is at most 0.025, by its protocol."


def test_a_record_that_cannot_be_read_is_not_told_as_a_run_that_showed_nothing() -> None:
    assert told(state="unreadable", gates=None) == [
        "The record of this run cannot be read, so nothing is known of what it has shown."
    ]
