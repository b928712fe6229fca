from __future__ import annotations

import pytest
from drawn import document, marked, moment, phase, told, written

from everloop.language import ENGLISH
from everloop.pictures import timeline
from everloop.pictures.phases import lasted


def test_phases_follow_each_other_and_waiting_between_them_is_left_out() -> None:
    found = [phase(1, "propose", 0, 10), phase(1, "train", 500, 530)]
    picture = timeline(document(), {"phases": found}, ENGLISH)
    assert told(picture) == ["propose: 10 s", "train: 30 s"]
    assert "40 s" in written(picture)
    assert "waiting and pauses between phases are left out" in picture.caption


def test_a_phase_inside_another_does_not_count_twice_but_stays_in_the_table() -> None:
    found = [phase(1, "summarise", 2, 5), phase(1, "propose", 0, 10)]
    picture = timeline(document(), {"phases": found}, ENGLISH)
    assert told(picture) == ["propose: 10 s"]
    assert len(picture.rows) == 2


def test_a_round_that_never_began_is_not_drawn() -> None:
    found = [phase(1, "train", 0, 10), phase(2, "turn", 11, 12)]
    picture = timeline(document(), {"phases": found}, ENGLISH)
    assert "2" not in written(picture)
    assert len(picture.rows) == 2


def test_a_phase_at_work_lasts_to_the_newest_known_moment_and_has_a_dashed_edge() -> None:
    found = [phase(1, "train", 0, None)]
    picture = timeline(document(updated_at=moment(5)), {"phases": found, "spend": [{"at": moment(90)}]}, ENGLISH)
    assert told(picture) == ["train: 1 min 30 s"]
    assert len(marked(picture, "rect", "open")) == 1
    assert "1 min 30 s …" in written(picture)


def test_the_axis_begins_with_zero_in_the_unit_of_its_steps() -> None:
    picture = timeline(document(), {"phases": [phase(1, "train", 0, 1800)]}, ENGLISH)
    assert [one for one in written(picture) if one in {"0 s", "0 min", "10 min", "20 min", "30 min"}] == [
        "0 min",
        "10 min",
        "20 min",
        "30 min",
    ]


def test_a_phase_whose_times_name_no_zone_took_the_time_between_them() -> None:
    bare = {"round": 1, "phase": "train", "started_at": "2026-11-30T01:00:00", "ended_at": "2026-11-30T01:00:41"}
    assert told(timeline(document(), {"phases": [bare]}, ENGLISH)) == ["train: 41 s"]


def test_a_phase_of_unknown_length_is_in_the_table_alone() -> None:
    picture = timeline(document(), {"phases": [{"round": 1, "phase": "train", "seconds": None}]}, ENGLISH)
    assert (picture.svg, picture.told) == ("", "No time of any phase is recorded yet.")
    assert picture.rows == [(1.0, None, "train", None, None, None)]


def test_the_newest_twenty_rounds_are_drawn_newest_first() -> None:
    found = [phase(number, "train", 100 * number, 100 * number + 50) for number in range(1, 31)]
    names = [text for text in written(timeline(document(), {"phases": found}, ENGLISH)) if text.isdigit()]
    assert names == [str(number) for number in range(30, 10, -1)]


def test_kinds_of_phases_differ_by_pattern_and_the_legend_has_those_that_are_there() -> None:
    found = [phase(1, "propose", 0, 10), phase(1, "audit", 10, 20), phase(1, "new-phase", 20, 30)]
    picture = timeline(document(), {"phases": found}, ENGLISH)
    fills = {one.get("fill") for one in marked(picture, "rect", "block")}
    assert fills == {None, "url(#picture-timeline-think)", "url(#picture-timeline-check)"}
    assert {"diagnose, propose", "audit, approval", "other"} <= set(written(picture))
    assert "build, train" not in written(picture)
    assert told(picture)[-1] == "new-phase: 10 s"


def test_very_many_phases_become_one_block_for_each_kind_and_it_says_so() -> None:
    found = [phase(place // 100, "train", place, place + 1) for place in range(2000)]
    picture = timeline(document(), {"phases": found}, ENGLISH)
    assert set(told(picture)) == {"build, train: 1 min 40 s"}
    assert "drawn as one block" in picture.caption
    assert len(picture.svg) < 60_000
    assert len(picture.rows) == 2000


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, "—"), (0.04, "0.0 s"), (9.96, "10.0 s"), (59, "59 s"), (61, "1 min 1 s"), (7260, "2 h 1 min")],
)
def test_a_length_of_time_is_told_in_its_two_largest_units(seconds: float | None, said: str) -> None:
    assert lasted(seconds) == said
