from __future__ import annotations

from itertools import pairwise

import pytest
from drawn import SVG, document, final, many, marked, read, score, told, version, written

from everloop.events import Json, JsonValue
from everloop.language import ENGLISH
from everloop.pictures import Picture, scores
from everloop.report.verdict import verdict


@pytest.mark.parametrize("count", [1, 2, 7, 20, 50])
def test_every_version_has_a_mark_on_the_page(count: int) -> None:
    picture = scores(many(count), ENGLISH)
    dots = [one for group in read(picture).findall(f"{SVG}g") for one in group.findall(f"{SVG}circle")]
    assert len(dots) == count
    assert all(0 < float(one.attrib["cx"].rstrip("%")) < 75 for one in dots)
    assert len(told(picture)) == count + 1


@pytest.mark.parametrize("count", [1, 2, 7, 20, 50, 1000])
@pytest.mark.parametrize(("hidden", "width"), [(("from-middle", "from-wide"), 220), (("from-wide",), 450), ((), 690)])
def test_labels_never_touch_at_any_width_and_the_last_version_is_named(
    count: int, hidden: tuple[str, ...], width: int
) -> None:
    texts = [one for one in read(scores(many(count), ENGLISH)).iter(f"{SVG}text") if one.get("text-anchor") == "middle"]
    shown = [one for one in texts if not set(one.attrib["class"].split()) & set(hidden)]
    names = [one for one in shown if (one.text or "").startswith("v")]
    places = [float(one.attrib["x"].rstrip("%")) * width / 100 for one in names]
    assert all(right - left >= 44 for left, right in pairwise([*places, 0.95 * width]))
    assert {one.text for one in shown} >= {"v0", f"v{count - 1}", "control"}


def test_a_version_without_a_score_leaves_a_gap_in_the_line() -> None:
    picture = scores(document(version("v0", score(0.8)), version("v1"), version("v2", score(0.9))), ENGLISH)
    [line] = marked(picture, "path", "faint")
    assert line.attrib["d"].count("M") == 2
    assert "l" not in line.attrib["d"]
    assert len(told(picture)) == 2
    assert "v1: not measured" in picture.told


def test_a_missing_mean_is_a_dash_and_never_zero() -> None:
    picture = scores(document(version("v0", score(None))), ENGLISH)
    assert "—" in written(picture)
    assert "0.000" not in picture.svg
    assert list(picture.rows[0])[4:7] == [None, None, None]


def test_blind_items_come_before_other_sets() -> None:
    found = document(version("v0", score(0.7, "dev"), score(0.8, "blind"), score(0.9, "certify")))
    assert "0.800 [0.780, 0.820], n = 400 blind items" in scores(found, ENGLISH).told


def test_what_was_not_measured_on_blind_items_is_hollow_and_the_legend_says_so() -> None:
    picture = scores(document(version("v0", score(0.8, "certify"))), ENGLISH)
    assert len(marked(picture, "circle", "hollow")) == 2
    assert "certify or dev items" in written(picture)
    assert "blind items" not in written(picture)


@pytest.mark.parametrize(
    ("passed", "said"),
    [(True, "v1 is confirmed"), (False, "v1 is not confirmed"), (None, "what it found is not recorded")],
)
def test_the_final_gate_is_told_as_it_was_recorded(passed: bool | None, said: str) -> None:
    versions = [version("v0", score(0.5)), version("v1", score(0.7))]
    picture = scores(document(*versions, gates=[final(passed)]), ENGLISH)
    assert said in picture.caption
    assert len([text for text in written(picture) if text.startswith("final gate")]) == (passed is not None)


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        (True, "is confirmed against v0 on 2,000 blind items, change 0.200 [0.180, 0.220]."),
        (False, "is not confirmed against v0 on 2,000 blind items, change +0.200 [+0.180, +0.220]."),
    ],
)
def test_the_caption_has_its_figures_in_the_form_of_the_verdict(passed: bool, said: str) -> None:
    versions = [version("v0", score(0.5)), version("v1", score(0.7))]
    found = document(*versions, gates=[final(passed)])
    assert said in scores(found, ENGLISH).caption
    assert said.rpartition("change ")[2].rstrip(".") in verdict(found, ENGLISH).claim
    assert "2,000 blind items" in verdict(found, ENGLISH).claim


def test_thousands_are_written_as_everywhere() -> None:
    picture = scores(document(version("v0", score(0.5, n=2000))), ENGLISH)
    assert "n=2,000" in written(picture)
    assert "n = 2,000 blind items" in picture.told
    cells = dict(zip((one.title for one in picture.columns), _texts(picture), strict=True))
    assert (cells["n"], cells["Training rows"]) == ("2,000", "6,600")


def _texts(picture: Picture) -> list[str]:
    return [column.text(cell) for column, cell in zip(picture.columns, picture.rows[0], strict=True)]


def test_a_run_without_a_final_gate_says_so() -> None:
    assert "has not been held" in scores(document(version("v0", score(0.5))), ENGLISH).caption


def test_an_empty_run_says_so_and_draws_nothing() -> None:
    picture = scores({"run": "new"}, ENGLISH)
    assert (picture.svg, picture.told, picture.caption) == ("", "No version yet.", "")


def test_a_thousand_versions_are_all_points_and_stay_small() -> None:
    picture = scores(many(1000), ENGLISH)
    assert marked(picture, "path", "dots")[0].attrib["d"].count("h0") == 1000
    assert marked(picture, "path", "hair")[0].attrib["d"].count("v") == 1000
    assert len(picture.svg) < 60_000
    assert "Every version is a point" in picture.caption
    assert len(picture.rows) == 1001


def test_the_table_has_interval_and_n_of_every_column() -> None:
    picture = scores(document(version("v0", score(0.5)), control={"rows": 10, "scores": [score(0.6)]}), ENGLISH)
    assert [column.title for column in picture.columns][4:8] == ["Mean", "Low", "High", "n"]
    assert [list(row)[4:8] for row in picture.rows] == [[0.5, 0.48, 0.52, 400], [0.6, 0.58, 0.62, 400]]


@pytest.mark.parametrize(
    ("beats", "said"), [(True, "It is shown to beat the control arm."), (False, "It is not shown to"), (None, "")]
)
def test_the_control_arm_is_told_of_the_newest_final_gate_alone(beats: bool | None, said: str) -> None:
    earlier: Json = {"claim": "beats_control", "candidate": "r1c1", "outcome": "shown"}
    gates: list[JsonValue] = [final(True) | {"beats_control": True}, final(True) | {"beats_control": beats}]
    picture = scores(document(version("v0", score(0.5)), gates=gates, claims=[earlier]), ENGLISH)
    assert ("control arm" in picture.caption) == (beats is not None)
    assert said in picture.caption
