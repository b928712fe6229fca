"""One sentence on each decision, from the record."""

from __future__ import annotations

from typing import Any

import pytest
from reported import candidate

from everloop.language import ENGLISH
from everloop.report.why import LENGTH, why

COMPARED = {"against": "v0", "wins": 38, "losses": 11, "pairs": 400, "log_e": 6.6501, "threshold": 5.2983}


def told(**changes: Any) -> str:
    return why(candidate(**changes), ENGLISH)


def review(kind: str, reason: str, *, passed: bool = False) -> dict[str, Any]:
    return {"kind": kind, "version": "r1c1", "passed": passed, "reason": reason, "at": None}


def test_a_certified_candidate_is_told_with_its_pairs_and_its_evidence() -> None:
    assert told() == (
        "r1c1 was certified against v0 on fresh items: "
        "38 won and 11 lost of 400 pairs, log e 6.65 where 5.30 was needed."
    )


def test_counts_have_a_thousands_separator() -> None:
    figures = COMPARED | {"wins": 1038, "losses": 1011, "pairs": 12000}
    assert "1,038 won and 1,011 lost of 12,000 pairs, log e 6.65" in told(certification=figures)


def test_a_policy_without_an_e_value_is_told_as_such() -> None:
    figures = COMPARED | {"log_e": None, "threshold": None}
    assert told(certification=figures).endswith("38 won and 11 lost of 400 pairs, no e-value.")


def test_a_kept_candidate_is_told_with_its_screen_and_that_it_is_not_certified() -> None:
    assert told(decision="kept", certification=None) == (
        "r1c1 became the working head, not yet certified: its screen gave +0.030 where +0.027 was needed, "
        "14 won and 8 lost of 200 pairs."
    )


@pytest.mark.parametrize(("stopped", "words"), [("shown", "it was ahead"), ("futility", "was not shown to beat v0")])
def test_a_kept_candidate_that_was_compared_later_is_told_with_what_came_of_it(stopped: str, words: str) -> None:
    sentence = told(decision="kept", certification=COMPARED | {"stopped": stopped})
    assert sentence.startswith("r1c1 became the working head; ") and words in sentence


@pytest.mark.parametrize(
    ("stopped", "words"),
    [("futility", "would hardly get there"), ("budget", "with all the pairs it could use"), (None, "beat v0: 38 won")],
)
def test_a_reverted_candidate_is_told_with_how_its_comparison_ended(stopped: str | None, words: str) -> None:
    sentence = told(decision="reverted", certification=COMPARED | {"stopped": stopped}, reasons=["certification ended"])
    assert sentence.startswith("r1c1 was not shown to beat v0") and words in sentence


def test_a_reverted_candidate_that_was_ahead_is_told_with_the_constraint_it_broke() -> None:
    reasons = ["s2 fell by 0.120 (1 won, 13 lost of 100 pairs)"]
    sentence = told(decision="reverted", certification=COMPARED | {"stopped": "shown"}, reasons=reasons)
    assert "but was not certified: s2 fell by 0.120 (1 won, 13 lost of 100 pairs)." in sentence


def test_a_reverted_candidate_without_figures_is_told_with_its_reasons() -> None:
    sentence = told(decision="reverted", certification=None, reasons=["approval: rejected by ada: too risky"])
    assert sentence == "r1c1 was not certified: approval: rejected by ada: too risky."


def test_a_candidate_that_an_audit_rejected_is_told_with_the_reason() -> None:
    reviews = [review("rationale", "fine", passed=True), review("contamination", "12 rows equal dev items")]
    sentence = told(decision="rejected", reviews=reviews, reasons=["contamination: 12 rows equal dev items"])
    assert sentence == "r1c1 was rejected by an audit: contamination: 12 rows equal dev items."


def test_several_audits_that_rejected_are_counted() -> None:
    sentence = told(decision="rejected", reviews=[review("rules", "a"), review("failures", "b")])
    assert sentence == "r1c1 was rejected by 2 audits: rules: a; failures: b."


def test_a_candidate_that_the_screen_dropped_is_told_with_figures_and_threshold() -> None:
    screen = {"wins": 5, "losses": 7, "pairs": 200, "estimate": -0.01, "threshold": 0.0274}
    assert told(decision="rejected", reviews=[], screen=screen, reasons=["gate: ..."]) == (
        "r1c1 was rejected by the screen: it gave -0.010 where +0.027 was needed, 5 won and 7 lost of 200 pairs."
    )


def test_a_candidate_that_was_not_ahead_is_not_said_to_have_missed_a_threshold_of_zero() -> None:
    screen = {"wins": 7, "losses": 7, "pairs": 200, "estimate": 0.0, "threshold": 0.0}
    sentence = told(decision="rejected", reviews=[], screen=screen, reasons=[])
    assert "it was not ahead of the working head, 7 won and 7 lost of 200 pairs" in sentence


def test_a_candidate_outside_the_allow_list_was_rejected_before_anything_was_built() -> None:
    sentence = told(decision="rejected", screen=None, reasons=["allow-list: judge may not be changed"])
    assert sentence == "r1c1 was rejected before anything was built: allow-list: judge may not be changed."


def test_a_candidate_that_the_pre_test_refused_is_told_so() -> None:
    reasons = ["clearly worse than the head: 3 won, 20 lost of 40 pairs"]
    sentence = told(decision="rejected", reviews=[], screen=None, reasons=reasons)
    assert sentence == f"r1c1 was rejected by the pre-test: {reasons[0]}."


def test_an_error_is_no_verdict() -> None:
    sentence = told(decision="error", reasons=["JOB_FAILED: the training ended with code 1."])
    assert sentence == (
        "r1c1 could not be judged, which is no verdict on it: JOB_FAILED: the training ended with code 1."
    )


@pytest.mark.parametrize("decision", ["certified", "kept", "reverted", "rejected", "error", None, 7])
def test_what_is_not_on_record_is_said_to_be_so(decision: Any) -> None:
    sentence = why({"candidate": "r1c1", "decision": decision}, ENGLISH)
    assert sentence.endswith(".") and "None" not in sentence and "nan" not in sentence


@pytest.mark.parametrize("name", ["screen", "certification"])
def test_figures_that_are_no_numbers_are_dashes(name: str) -> None:
    broken = dict.fromkeys(("wins", "losses", "pairs", "estimate", "threshold", "log_e"), float("nan"))
    for decision in ("certified", "kept", "reverted", "rejected"):
        assert "nan" not in told(**{"decision": decision, name: broken | {"pairs": 1}})


def test_reasons_are_quoted_in_one_line_and_not_without_end() -> None:
    sentence = told(decision="rejected", reviews=[], screen=None, reasons=["a\nb", "x" * 5000, "c", "d", "e"])
    assert "a b; " in sentence and sentence.endswith("…; c; and 2 more.") and len(sentence) < LENGTH + 100
