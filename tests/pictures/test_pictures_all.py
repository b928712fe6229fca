"""What holds for every picture, whatever a document has in it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from drawn import SVG, document, final, looks, many, moment, phase, score, spent, version
from hypothesis import given, settings
from hypothesis import strategies as st

import everloop.console
from everloop import pictures
from everloop.events import Json
from everloop.fields import part
from everloop.language import ENGLISH, LANGUAGES, Language
from everloop.pictures.axis import Axis
from everloop.pictures.style import PALETTE, RULES, WIDER

FAMILIES = [score(0.6, split="plain"), score(0.4, split="carry")]
FULL = document(
    version("v0", score(0.5), *FAMILIES),
    version("v1", score(0.7), *FAMILIES),
    control={"scores": [score(0.6)]},
    gates=[final(True)],
    claims=[{"claim": "beats_control", "outcome": "shown"}],
    limits={"usd_cap": 2.0, "model_usd_cap": 1.0},
)
PAST: Json = {
    "comparison": looks(1.0, 6.0, stopped="shown"),
    "spend": spent(0.1, 0.2),
    "phases": [phase(1, "train", 0, 9)],
}

anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)


def objects(*names: str) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, anything))


SETS = st.none() | st.sampled_from(["blind", "dev"]) | st.text(max_size=3)


def listed(shape: st.SearchStrategy[Json]) -> st.SearchStrategy[object]:
    return st.lists(shape | anything, max_size=3) | anything


measured = dict.fromkeys(("split", "mean", "low", "high", "n"), anything)
scored = st.fixed_dictionaries({}, optional={"set": SETS, **measured}) | st.just(
    {"set": "blind", "split": "all", "mean": 1e308}
)
subject = st.fixed_dictionaries({}, optional={"version": anything, "scores": listed(scored), "round": anything})
documents = st.fixed_dictionaries(
    {},
    optional={
        "run": anything,
        "versions": listed(subject),
        "control": subject | anything,
        "gates": listed(objects("gate", "candidate", "passed", "n", "change") | st.just({"gate": "final"})),
        "claims": listed(objects("claim", "outcome")),
        "limits": objects("usd_cap", "model_usd_cap"),
        "spend": objects("model_usd", "gpu_usd", "total_usd"),
        "updated_at": anything,
    },
)
compared = st.fixed_dictionaries(
    {},
    optional={
        "looks": listed(objects("pairs", "wins", "losses", "log_e", "futility", "at")),
        "threshold": anything,
        "futility_threshold": anything,
        "max_pairs": anything,
        "stopped": anything,
    },
)
histories = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "comparison": compared | anything,
        "spend": listed(objects("round", "at", "model_usd", "gpu_usd", "total_usd")),
        "phases": listed(objects("round", "candidate", "phase", "started_at", "ended_at", "seconds")),
    },
)


@settings(max_examples=150, deadline=None)
@given(documents, histories)
def test_no_document_whatever_its_fields_breaks_a_picture(found: Json, history: Json | None) -> None:
    for picture in pictures.of(found, history, ENGLISH):
        for text in (picture.svg, pictures.standalone(picture)):
            drawn = ET.fromstring(text) if text else None
            for one in drawn.iter() if drawn is not None else ():
                for name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "d", "width", "height"):
                    assert not re.search("nan|inf|e[+-]", one.get(name, ""))
        assert picture.told
        assert all(len(row) == len(picture.columns) for row in picture.rows)
        assert all(column.text(cell) for row in picture.rows for column, cell in zip(picture.columns, row, strict=True))
        picture.csv()


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=list(LANGUAGES))
def test_each_picture_is_drawn_in_every_language(language: Language) -> None:
    drawn = pictures.of(FULL, PAST, language)
    assert tuple(one.name for one in drawn) == pictures.NAMES
    assert all(one.svg and one.title and one.caption and one.told and one.rows for one in drawn)


def test_a_picture_has_a_name_and_a_description_for_who_does_not_see_it() -> None:
    for picture in pictures.of(FULL, PAST, ENGLISH):
        drawn = ET.fromstring(picture.svg)
        by_id = {one.attrib["id"]: one.text for one in drawn.iter() if "id" in one.attrib}
        assert drawn.attrib["role"] == "img"
        assert by_id[drawn.attrib["aria-labelledby"]] == picture.title
        assert by_id[drawn.attrib["aria-describedby"]] == picture.told


def test_no_picture_has_a_time_of_day_in_a_zone_that_the_page_may_not_be_in() -> None:
    clock = r"\d{4}-\d\d-\d\dT|\b\d{1,2}:\d\d\b|UTC"
    for picture in pictures.of(FULL, PAST, ENGLISH):
        drawn = ET.fromstring(pictures.standalone(picture))
        body = [one for name in ("text", "title", "desc") for one in drawn.iter(f"{SVG}{name}")]
        assert len(body) > 5
        assert not [one.text for one in body if re.search(clock, one.text or "")]
        assert not re.search(clock, picture.told + picture.caption)


def test_the_table_s_times_are_marked_as_such_and_the_csv_has_them_as_the_record() -> None:
    past = PAST | {"comparison": looks(1.0, 6.0)}
    part(past, "comparison")["looks"] = [{"pairs": 20, "log_e": 1.0, "at": moment(60)}]
    drawn = pictures.of(FULL, past, ENGLISH)
    marked = {one.name: [column.title for column in one.columns if column.time] for one in drawn}
    assert marked == {
        "scores": [],
        "evidence": ["At"],
        "families": [],
        "spend": ["At"],
        "timeline": ["Started", "Ended"],
    }
    for picture in drawn:
        for column, *cells in zip(picture.columns, *picture.rows, strict=True):
            assert column.time == any(isinstance(cell, str) and "T" in cell and cell.endswith("Z") for cell in cells)
        for cell in (
            cell for row in picture.rows for column, cell in zip(picture.columns, row, strict=True) if column.time
        ):
            assert f",{cell}" in picture.csv()


def test_ids_are_unique_over_all_pictures_of_a_page() -> None:
    found = re.findall(r' id="([^"]*)"', "".join(one.svg for one in pictures.of(FULL, PAST, ENGLISH)))
    assert len(found) == len(set(found))
    assert all(one.startswith("picture-") for one in found)


def test_a_strict_content_security_policy_has_nothing_to_refuse() -> None:
    whole = "".join(one.svg for one in pictures.of(FULL, PAST, ENGLISH))
    assert not re.search(r"\sstyle=|<style|<script|\son\w+=|href=|https?:", whole)


def test_every_class_has_a_rule() -> None:
    whole = "".join(one.svg for found in (FULL, many(100)) for one in pictures.of(found, PAST, ENGLISH))
    used = {name for classes in re.findall(r' class="([^"]*)"', whole) for name in classes.split()}
    assert {name for name in used if not re.search(rf"\.{name}\b", RULES)} == set()


def test_the_console_has_the_same_rules_word_for_word() -> None:
    sheet = Path(everloop.console.__file__).with_name("static") / "console.css"
    text = sheet.read_text(encoding="utf-8")
    assert RULES in text
    assert WIDER in text


def test_a_picture_alone_carries_its_colours_by_day_by_night_and_on_paper() -> None:
    for picture in pictures.of(FULL, PAST, ENGLISH):
        drawn = ET.fromstring(pictures.standalone(picture))
        text = drawn.findtext(f"{SVG}style") or ""
        assert PALETTE in text
        assert "prefers-color-scheme: dark" in text
        assert "@media print" in text
        assert {"viewBox", "width", "height"} <= set(drawn.attrib)
        assert [one.attrib["role"] for one in drawn.iter() if "role" in one.attrib] == ["img"]
        whole = "".join(drawn.itertext())
        assert picture.title in whole
        assert "arith-carry-1" in whole


def test_a_picture_alone_says_when_there_is_nothing_to_draw() -> None:
    picture = pictures.evidence(document(), None, ENGLISH)
    assert "No comparison has been looked at yet." in "".join(ET.fromstring(pictures.standalone(picture)).itertext())


def test_a_long_caption_is_broken_into_lines() -> None:
    found = document(version("v0", score(0.5)), version("v1", score(0.7)), gates=[final(True)])
    drawn = ET.fromstring(pictures.standalone(pictures.scores(found, ENGLISH)))
    lines = [one.text or "" for one in drawn.findall(f"{SVG}text")][2:]
    assert len(lines) == 2
    assert all(len(one) < 120 for one in lines)


def _brightness(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_brightness(one), _brightness(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["day", "night", "paper"])
def test_texts_have_the_contrast_of_aa_and_marks_three_to_one(place: int) -> None:
    blocks = re.findall(r":root \{([^}]*)\}", PALETTE)
    colours = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", blocks[place]))
    assert all(_contrast(colours[name], colours["raised"]) >= 4.5 for name in ("ink", "quiet", "accent", "other"))
    assert _contrast(colours["edge"], colours["raised"]) >= 3


@given(
    st.lists(st.floats(-9e11, 9e11), min_size=1, max_size=5),
    st.integers(2, 8),
)
def test_an_axis_holds_its_values_in_few_round_steps(values: list[float], most: int) -> None:
    axis = Axis.over(values, most=most)
    slack = 1e-6 * axis.step
    assert all(axis.low - slack <= value <= axis.high + slack for value in values)
    assert 2 <= len(axis.ticks()) <= most + 3
    assert all(0 <= axis.share(tick) <= 1 for tick in axis.ticks())


def test_an_axis_writes_distinct_figures() -> None:
    axis = Axis.over([0.55, 0.56])
    assert [axis.told(tick) for tick in axis.ticks()] == ["0.550", "0.552", "0.554", "0.556", "0.558", "0.560"]


def test_an_axis_of_large_values_stays_short() -> None:
    axis = Axis.over([0.0, 45_000.0])
    assert [axis.told(tick, 2) for tick in axis.ticks()] == ["0", "10k", "20k", "30k", "40k", "50k"]


@pytest.mark.parametrize("seconds", [0, 0.5, 7, 59, 61, 4000, 90_000, 40 * 86_400])
def test_an_axis_of_time_has_few_steps(seconds: float) -> None:
    axis = Axis.of_time(seconds)
    assert axis.high >= seconds
    assert 2 <= len(axis.ticks()) <= 5


def test_a_formula_in_a_table_is_defused() -> None:
    found = document(version("=1+1", score(0.5)))
    assert "'=1+1" in pictures.scores(found, ENGLISH).csv()
