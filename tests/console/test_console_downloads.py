"""What a reader takes along: pictures as SVG and CSV, the report of a run."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
import stored
from browsing import Visitor
from visiting import Reader, Site

from everloop import pictures
from everloop.service.permissions import Role

RUN = "downloads"
HERE = f"/local/local/rsi/model-loops/{RUN}"


@pytest.fixture(scope="module", autouse=True)
def _stored(site: Site) -> None:
    stored.finished(site.place, RUN)
    stored.starting(site.place, f"{RUN}-begun")
    stored.unreadable(site.place, f"{RUN}-broken")
    stored.past_lost(site.place, stored.finished(site.place, f"{RUN}-lost"))


@pytest.fixture
def inside(reader: Reader) -> Reader:
    reader.enter()
    return reader


@pytest.mark.parametrize("name", pictures.NAMES)
def test_every_picture_is_an_svg_document_of_its_own(inside: Reader, name: str) -> None:
    response = inside.get(f"{HERE}/pictures/{name}.svg")
    assert (response.status_code, response.headers["content-type"]) == (200, "image/svg+xml; charset=utf-8")
    assert response.headers["content-disposition"] == f'attachment; filename="{RUN}-{name}.svg"'
    drawn = ElementTree.fromstring(response.text)
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [one for one in drawn.iter() if one.tag.endswith(("script", "image", "use", "foreignObject"))]


@pytest.mark.parametrize("name", pictures.NAMES)
def test_every_picture_has_its_figures_as_csv(inside: Reader, name: str) -> None:
    response = inside.get(f"{HERE}/pictures/{name}.csv")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    rows = list(csv.reader(io.StringIO(response.text)))
    assert len(rows) > 1 and {len(row) for row in rows} == {len(rows[0])}


def test_a_csv_that_is_not_ascii_says_which_encoding_it_is(inside: Reader) -> None:
    response = inside.get(f"{HERE}/pictures/scores.csv", headers={"Accept-Language": "zh-CN"})
    assert response.content.isascii() or response.content.startswith(b"\xef\xbb\xbf")


def test_a_file_that_is_opened_all_the_same_can_do_nothing(inside: Reader) -> None:
    for path in ("pictures/scores.svg", "report.html"):
        headers = inside.get(f"{HERE}/{path}").headers
        assert headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(("form", "kind"), [("html", "text/html"), ("md", "text/markdown")])
def test_the_report_is_a_file(inside: Reader, form: str, kind: str) -> None:
    response = inside.get(f"{HERE}/report.{form}")
    assert (response.status_code, response.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
    assert response.headers["content-disposition"] == f'attachment; filename="{RUN}-report.{form}"'
    assert f"Report of run {RUN}" in response.text and "is confirmed better than v0" in response.text


def test_the_report_is_in_the_language_of_the_reader(inside: Reader) -> None:
    text = inside.get(f"{HERE}/report.html", headers={"Accept-Language": "zh-CN"}).text
    assert '<html lang="zh-CN">' in text


@pytest.mark.parametrize(
    "path", ["pictures/other.svg", "pictures/scores.png", "report.pdf", "../nothing/report.html", "pictures/scores"]
)
def test_what_there_is_not_is_not_found(inside: Reader, path: str) -> None:
    assert inside.get(f"{HERE}/{path}").status_code == 404


def test_a_picture_with_nothing_to_draw_says_so(inside: Reader) -> None:
    path = f"/local/local/rsi/model-loops/{RUN}-begun"
    assert inside.get(f"{path}/pictures/scores.svg").status_code == 404
    assert inside.get(f"{path}/report.html").status_code == 200


def test_the_report_of_a_record_that_cannot_be_read_says_so(inside: Reader) -> None:
    text = inside.get(f"/local/local/rsi/model-loops/{RUN}-broken/report.md").text
    assert "The record of this run cannot be read, so nothing is known of what it has shown." in text


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_record_that_cannot_be_read_has_no_report(inside: Reader, form: str) -> None:
    response = inside.get(f"/local/local/rsi/model-loops/{RUN}-broken/report.{form}")
    assert (response.status_code, "content-disposition" in response.headers) == (409, False)


@pytest.mark.parametrize("tag", ["en", "zh-CN"])
@pytest.mark.parametrize("form", ["html", "md"])
def test_the_report_of_a_past_that_cannot_be_read_says_what_the_page_says(inside: Reader, form: str, tag: str) -> None:
    spoken = {"Accept-Language": tag}
    page = inside.get(f"/local/local/rsi/model-loops/{RUN}-lost", headers=spoken).text
    found = re.search('id="no-past"[^>]*><p>(.*?)</p>', page)
    assert found is not None
    report = inside.get(f"/local/local/rsi/model-loops/{RUN}-lost/report.{form}", headers=spoken)
    assert report.status_code == 200
    assert html.unescape(found[1]) in html.unescape(report.text)


def test_nobody_takes_along_what_they_may_not_see(inside: Reader, reader: Reader, site: Site) -> None:
    project = site.project()
    reader.enter((project, Role.ADMIN))
    assert reader.get(f"{HERE}/report.html").status_code == 404
    assert reader.get(f"/local/{project}/rsi/model-loops/{RUN}/report.html").status_code == 404


def test_who_is_not_signed_in_is_sent_to_do_that(reader: Reader) -> None:
    response = reader.get(f"{HERE}/pictures/scores.csv")
    assert response.status_code == 303 and "/sign-in?next=" in response.headers["location"]


@pytest.mark.parametrize("tag", ["en", "zh-CN"])
def test_the_report_fits_every_screen_and_asks_for_nothing(
    visit: Callable[..., Visitor], inside: Reader, tag: str
) -> None:
    visitor = visit()
    visitor.page.set_content(inside.get(f"{HERE}/report.html", headers={"Accept-Language": tag}).text)
    for width in (360, 1280, 1920):
        visitor.look(width)
        assert visitor.overflow == 0, width
    assert visitor.requests == []


def test_axe_finds_nothing_in_the_report(visit: Callable[..., Visitor], inside: Reader) -> None:
    visitor = visit(width=360, dark=True)
    visitor.page.set_content(inside.get(f"{HERE}/report.html").text)
    assert visitor.axe() == []


def test_the_report_is_printed_in_dark_on_light_whatever_the_screen(
    visit: Callable[..., Visitor], inside: Reader
) -> None:
    visitor = visit(dark=True)
    visitor.page.set_content(inside.get(f"{HERE}/report.html").text)
    by_night = visitor.ask("getComputedStyle(document.body).backgroundColor")
    visitor.page.emulate_media(media="print")
    on_paper = visitor.ask("getComputedStyle(document.body).backgroundColor")
    assert (by_night != on_paper, on_paper) == (True, "rgb(255, 255, 255)")
