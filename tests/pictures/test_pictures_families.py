from __future__ import annotations

from drawn import document, marked, read, score, told, version, written

from everloop.events import Json
from everloop.language import ENGLISH
from everloop.pictures import families


def split(family: str, mean: float | None, set_name: str = "blind") -> Json:
    return score(mean, set_name, family)


def test_before_after_and_control_arm_differ_in_shape_and_have_intervals() -> None:
    control = {"rows": 6600, "scores": [split("plain", 0.6)]}
    found = document(version("v0", split("plain", 0.5)), version("v1", split("plain", 0.7)), control=control)
    picture = families(found, ENGLISH)
    kinds = ("plain-line", "interval", "other-line")
    assert [len(marked(picture, "line", kind)) for kind in kinds] == [1, 1, 1]
    assert told(picture) == ["plain: before 0.500 [0.480, 0.520], n = 400, after 0.700 [0.680, 0.720], n = 400"]
    assert "0.500 → 0.700, n=400" in written(picture)


def test_both_versions_are_held_against_each_other_on_a_set_that_both_have() -> None:
    before = version("v0", split("plain", 0.5, "blind"), split("plain", 0.4, "certify"))
    picture = families(document(before, version("v1", split("plain", 0.7, "certify"))), ENGLISH)
    assert "0.400 → 0.700, n=400" in written(picture)


def test_a_family_that_was_not_measured_has_no_mark_and_a_dash() -> None:
    before = version("v0", split("plain", 0.5), split("hard", None))
    picture = families(document(before, version("v1", split("plain", 0.7), split("hard", 0.2))), ENGLISH)
    assert "— → 0.200, n=400" in written(picture)
    assert len(marked(picture, "line", "plain-line")) == 1


def test_while_the_first_version_is_the_best_there_is_no_after() -> None:
    picture = families(document(version("v0", split("plain", 0.5)), best_version="v0"), ENGLISH)
    assert "no later version is the best yet" in picture.caption
    assert not any("→" in text for text in written(picture))


def test_of_many_families_those_that_changed_most_are_drawn_and_it_says_so() -> None:
    before = version("v0", *(split(f"f{place}", 0.2) for place in range(60)))
    after = version("v1", *(split(f"f{place}", 0.2 + 0.01 * place) for place in range(60)))
    picture = families(document(before, after), ENGLISH)
    assert "the 40 of 60 families that changed most" in picture.caption
    assert "f59" in written(picture)
    assert "f3" not in written(picture)
    assert len(picture.rows) == 120
    assert len(picture.svg) < 60_000


def test_thousands_of_items_are_written_as_everywhere() -> None:
    picture = families(document(version("v0", score(0.5, split="plain", n=2000))), ENGLISH)
    assert "0.500, n=2,000" in written(picture)
    assert told(picture) == ["plain: 0.500 [0.480, 0.520], n = 2,000"]
    assert picture.columns[-1].text(picture.rows[0][-1]) == "2,000"


def test_no_score_per_family_says_so() -> None:
    picture = families(document(version("v0", score(0.5))), ENGLISH)
    assert (picture.svg, picture.told) == ("", "No score per family yet.")


def test_a_name_is_no_markup() -> None:
    picture = families(document(version("<b>v0", split("<i>plain\x1b", 0.5))), ENGLISH)
    assert "<i>plain\N{REPLACEMENT CHARACTER}" in written(picture)
    assert read(picture).attrib["role"] == "img"
