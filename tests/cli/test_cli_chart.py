from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from documents import document, score, version

from everloop.cli.chart import HEIGHT, WIDTH, bars, chart

SVG = "{http://www.w3.org/2000/svg}"


def _drawn(text: str) -> ET.Element:
    return ET.fromstring(text)


@pytest.mark.parametrize("count", [1, 2, 7, 20, 50])
def test_every_version_has_a_mark_inside_the_page_and_no_labels_touch(count: int) -> None:
    versions = [version(f"v{place}", score(min(0.99, 0.5 + place / 80))) for place in range(count)]
    root = _drawn(chart(document(*versions, control=version("control", score(0.93)))))
    circles = [one for group in root.findall(f"{SVG}g") for one in group.findall(f"{SVG}circle")]
    assert len(circles) == count
    for circle in circles:
        assert 0 < float(circle.attrib["cx"]) < WIDTH
        assert 0 < float(circle.attrib["cy"]) < HEIGHT
    labels = [float(t.attrib["x"]) for g in root.findall(f"{SVG}g") for t in g.findall(f"{SVG}text[@class='ink']")]
    assert all(right - left >= 48 for left, right in pairwise(labels))
    assert {t.text for g in root.findall(f"{SVG}g") for t in g.findall(f"{SVG}text")} >= {
        "v0",
        f"v{count - 1}",
        "control",
    }


def test_a_version_without_a_score_leaves_a_gap() -> None:
    root = _drawn(chart(document(version("v0", score(0.8)), version("v1"), version("v2", score(0.9)))))
    groups = root.findall(f"{SVG}g")
    assert [len(group.findall(f"{SVG}circle")) for group in groups] == [1, 0, 1]
    assert root.findall(f"{SVG}line[@class='line']") == []
    assert "not measured" in "".join(groups[1].itertext())


def test_a_missing_mean_is_never_drawn_as_zero() -> None:
    bar = bars(document(version("v0", score(None))))[0]
    assert bar.mean is None
    assert "0.000" not in chart(document(version("v0", score(None))))


def test_blind_items_come_before_other_sets() -> None:
    shown = bars(document(version("v0", score(0.7, "dev"), score(0.8, "blind"), score(0.9, "certify"))))[0]
    assert (shown.mean, shown.set) == (0.8, "blind")


def test_it_can_be_read_aloud_and_takes_no_markup_from_names() -> None:
    text = chart(document(version("<b>v0", score(0.8))))
    root = _drawn(text)
    assert root.attrib["role"] == "img"
    assert root.find(f"{SVG}title") is not None
    assert "0.800 [0.780, 0.820] on 400 blind items" in str(root.findtext(f"{SVG}desc"))


def test_an_empty_run_says_so() -> None:
    assert "No version yet." in chart({"run": "new"})
