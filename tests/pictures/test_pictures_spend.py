from __future__ import annotations

import pytest
from drawn import document, marked, spent, told, written

from everloop.events import Json
from everloop.language import ENGLISH
from everloop.pictures import spend

CAPS: Json = {"usd_cap": 2.0, "model_usd_cap": 1.0}


def curve(history: Json) -> str:
    [line] = [one for one in marked(spend(document(), history, ENGLISH), "path", "path") if one.get("vector-effect")]
    return line.attrib["d"]


def test_each_cap_has_a_labelled_line_above_the_spend() -> None:
    picture = spend(document(limits=CAPS), {"spend": spent(0.1, 0.2)}, ENGLISH)
    assert {"cap on everything $2.00", "cap on models $1.00"} <= set(written(picture))
    heights = {float(one.attrib["y1"]) for kind in ("limit", "other-limit") for one in marked(picture, "line", kind)}
    assert len(heights) == 2
    assert max(heights) < min(float(one.attrib["cy"]) for one in marked(picture, "circle", "full"))


def test_without_a_cap_it_says_so() -> None:
    assert "No cap is known." in spend(document(), {"spend": spent(0.1)}, ENGLISH).told


def test_unknown_money_breaks_the_line_and_is_no_zero() -> None:
    assert curve({"spend": spent(0.1, 0.2, None, 0.3, 0.4)}).count("M") == 2


def test_times_are_drawn_to_scale() -> None:
    late = spent(0.1, 0.2, 0.3)
    late[2]["at"] = "2026-11-30T02:40:00Z"
    assert curve({"spend": late}).startswith("M0 ")
    assert "l53 " in curve({"spend": late})


def test_a_missing_time_puts_rounds_in_their_order_and_says_so() -> None:
    untimed = spent(0.1, 0.2, 0.3)
    untimed[1]["at"] = None
    picture = spend(document(), {"spend": untimed}, ENGLISH)
    assert "in order of rounds, times are missing" in written(picture)
    assert "l500 " in curve({"spend": untimed})


def test_without_history_it_is_what_is_spent_by_now() -> None:
    now: Json = {"model_usd": 0.42, "gpu_usd": None, "total_usd": 0.42}
    picture = spend(document(spend=now, limits=CAPS, updated_at="2026-11-30T01:00:00Z"), None, ENGLISH)
    assert picture.told == ("Spent $0.42: models $0.42, training —. Cap on models: $1.00. Cap on everything: $2.00.")
    assert told(picture) == ["2026-11-30T01:00:00Z: total $0.42, models $0.42, training —"]
    assert "training" not in written(picture)


@pytest.mark.parametrize("known", [{}, {"total_usd": None}])
def test_nothing_known_says_so_and_draws_nothing(known: Json) -> None:
    picture = spend(document(spend=known), None, ENGLISH)
    assert (picture.svg, picture.told) == ("", "Nothing is known of the spend yet.")


def test_a_thousand_rounds_stay_small() -> None:
    picture = spend(document(limits=CAPS), {"spend": spent(*(0.001 * place for place in range(1000)))}, ENGLISH)
    assert len(picture.svg) < 60_000
    assert len(picture.rows) == 1000
