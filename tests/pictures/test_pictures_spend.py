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


@pytest.mark.parametrize(
    ("minutes", "ticks"),
    [
        (5 / 60, ["0 s", "5 s", "10 s"]),
        (5, ["0 min", "5 min", "10 min"]),
        (20, ["0 min", "20 min", "40 min"]),
        (90, ["0 h", "1 h", "2 h", "3 h"]),
        (24 * 60, ["0 d", "1 d", "2 d"]),
        (0, []),
    ],
)
def test_the_axis_has_the_time_since_the_first_point_and_no_time_of_day(minutes: float, ticks: list[str]) -> None:
    picture = spend(document(), {"spend": spent(0.1, 0.2, 0.3, minutes=minutes)}, ENGLISH)
    assert [one for one in written(picture) if one.endswith((" s", " min", " h", " d"))] == ticks
    assert ("time since the first point" in written(picture)) == bool(ticks)


def test_a_point_tells_its_time_since_the_first() -> None:
    picture = spend(document(), {"spend": spent(0.1, 0.2, 0.3, minutes=20)}, ENGLISH)
    assert told(picture) == [
        "total $0.10, models $0.10, training —",
        "20 min 0 s after the first point: total $0.20, models $0.20, training —",
        "40 min 0 s after the first point: total $0.30, models $0.30, training —",
    ]


def test_times_without_a_zone_are_of_utc() -> None:
    mixed = spent(0.1, 0.2, minutes=20)
    mixed[1]["at"] = "2026-11-30T01:40:00"
    assert "0 min" in written(spend(document(), {"spend": mixed}, ENGLISH))
    assert "20 min" in written(spend(document(), {"spend": mixed}, ENGLISH))


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
    assert told(picture) == ["total $0.42, models $0.42, training —"]
    assert "training" not in written(picture)


@pytest.mark.parametrize("known", [{}, {"total_usd": None}])
def test_nothing_known_says_so_and_draws_nothing(known: Json) -> None:
    picture = spend(document(spend=known), None, ENGLISH)
    assert (picture.svg, picture.told) == ("", "Nothing is known of the spend yet.")


def test_a_thousand_rounds_stay_small() -> None:
    picture = spend(document(limits=CAPS), {"spend": spent(*(0.001 * place for place in range(1000)))}, ENGLISH)
    assert len(picture.svg) < 60_000
    assert len(picture.rows) == 1000
