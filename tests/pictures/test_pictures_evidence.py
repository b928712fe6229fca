from __future__ import annotations

import pytest
from drawn import document, looks, marked, told, written

from everloop.events import Json
from everloop.language import ENGLISH
from everloop.pictures import evidence


def test_both_thresholds_are_drawn_with_their_values() -> None:
    picture = evidence(document(), {"comparison": looks(1.0, 2.5)}, ENGLISH)
    assert {"shown from 5.30", "futile from 0.69"} <= set(written(picture))
    assert len(marked(picture, "line", "limit")) == 1
    assert len(marked(picture, "line", "other-limit")) == 1


def test_every_look_has_a_mark_with_its_figures() -> None:
    picture = evidence(document(), {"comparison": looks(1.0, 2.5)}, ENGLISH)
    assert told(picture) == [
        "20 pairs: 3 won, 1 lost; log E 1.00, futility -0.10",
        "40 pairs: 6 won, 2 lost; log E 2.50, futility -0.20",
    ]


@pytest.mark.parametrize(
    ("stopped", "said", "kind"),
    [
        ("shown", "the evidence reached its threshold", "full"),
        ("futility", "for futility", None),
        ("futile", "for futility", None),
        ("budget", "all pairs are used", None),
        (None, "Still open", "hollow"),
    ],
)
def test_how_it_ended_is_told_in_words_and_by_shape(stopped: str | None, said: str, kind: str | None) -> None:
    picture = evidence(document(), {"comparison": looks(1.0, 2.5, stopped=stopped)}, ENGLISH)
    assert said in picture.told
    assert len([one for one in marked(picture, "circle", kind or "") if one.get("r") == "5"]) == (2 if kind else 0)


def test_the_bound_on_pairs_is_told_and_drawn_once_it_is_near() -> None:
    far = evidence(document(), {"comparison": looks(1.0, 2.0)}, ENGLISH)
    near = evidence(document(), {"comparison": looks(1.0, 2.0, max_pairs=60)}, ENGLISH)
    assert "pairs, at most 2,000" in written(far)
    assert "pairs, at most 60" in written(near)
    assert len(marked(near, "line", "base")) == len(marked(far, "line", "base")) + 1


def test_a_look_without_a_value_breaks_the_line_and_is_no_zero() -> None:
    picture = evidence(document(), {"comparison": looks(1.0, None, 2.0, 3.0)}, ENGLISH)
    [line] = [one for one in marked(picture, "path", "path") if one.get("vector-effect")]
    assert line.attrib["d"].count("M") == 2
    assert picture.rows[1][3] is None
    assert "log E —" in told(picture)[1]


def test_without_history_it_is_the_newest_certification_of_the_rounds() -> None:
    last: Json = {"against": "v0", "wins": 61, "losses": 3, "pairs": 180, "log_e": 30.2, "threshold": 5.3}
    made: list[Json] = [
        {"candidate": "r1c1", "certification": {**last, "log_e": 1.0}},
        {"candidate": "r2c1", "certification": {**last, "stopped": "shown"}},
        {"candidate": "r3c1", "certification": None},
    ]
    rounds = [{"round": place, "candidates": [one]} for place, one in enumerate(made, 1)]
    picture = evidence(document(rounds=rounds), None, ENGLISH)
    assert not [one for one in marked(picture, "path", "path") if "l" in one.attrib["d"] and one.get("vector-effect")]
    assert picture.told.startswith("r2c1 against v0: 61 won, 3 lost of 180 fresh pairs; log E 30.20, needs 5.30.")


def test_a_comparison_whose_first_pairs_are_being_measured_says_so() -> None:
    picture = evidence(document(), {"comparison": looks()}, ENGLISH)
    assert (picture.svg, picture.told) == ("", "r4c1 against v0: the first pairs are being measured.")


def test_a_policy_without_an_e_value_says_why_nothing_is_drawn() -> None:
    plain: Json = {"candidate": "r1c1", "looks": [{"pairs": 400, "wins": 60, "losses": 20, "log_e": None}]}
    picture = evidence(document(), {"comparison": plain}, ENGLISH)
    assert picture.svg == ""
    assert "computes no e-value" in picture.told
    assert len(picture.rows) == 1


def test_no_comparison_yet_says_so() -> None:
    assert evidence(document(), None, ENGLISH).told == "No comparison has been looked at yet."


def test_a_thousand_looks_stay_small() -> None:
    picture = evidence(document(), {"comparison": looks(*(0.01 * place for place in range(1000)))}, ENGLISH)
    assert len(picture.svg) < 60_000
    assert len(picture.rows) == 1000


@pytest.mark.parametrize(("state", "said"), [("running", "Still open."), ("failed", "Broken off: the run has ended.")])
def test_a_comparison_that_the_end_of_the_run_broke_off_is_not_open(state: str, said: str) -> None:
    assert evidence(document(state=state), {"comparison": looks(1.0, 2.5)}, ENGLISH).told.endswith(said)
