"""Addresses at which there is nothing: a page for who reads pages, the envelope for who asks the API."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browsing import Visitor
from visiting import Reader, Site

from everloop.console.nowhere import prefers_page
from everloop.service.permissions import Role

CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
BROWSER = {"Accept": CHROMIUM}


@pytest.mark.parametrize(
    "path", ["/local/local/nowhere", "/local/local", "/local/local/rsi/xyz", "/nowhere", "/local/local/rsi/xyz-loops"]
)
def test_a_browser_is_shown_a_page(reader: Reader, path: str) -> None:
    reader.enter()
    answer = reader.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>Not found</h1>" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/v1/nowhere", "/api/v1/nowhere", "/v1", "/api/v1"])
def test_below_the_api_there_is_no_page(reader: Reader, path: str) -> None:
    reader.enter()
    answer = reader.get(path, headers=BROWSER)
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/html;q=0.5", "text/html;q=0"])
def test_a_client_of_the_api_gets_the_envelope_everywhere(reader: Reader, accept: str) -> None:
    answer = reader.get("/local/local/nowhere", headers={"Accept": accept})
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("accept", "page"),
    [
        (CHROMIUM, True),
        ("text/html", True),
        ("text/html, application/json", True),
        ("application/json;q=0.9, TEXT/HTML; q=1", True),
        ("application/xhtml+xml", True),
        ("application/json, text/html;q=0.9", False),
        ("text/html;q=nothing", False),
        ("text/html;q=1.2.3", False),
        ("", False),
        (",;=", False),
    ],
)
def test_html_must_be_named_and_weigh_as_much_as_json(accept: str, page: bool) -> None:
    assert prefers_page(accept) is page


def test_in_a_project_of_the_reader_its_navigation_stays(reader: Reader) -> None:
    reader.enter()
    for path in ("/local/local/nowhere", "/local/local/rsi/model-loops/nowhere", "/local/local/rsi/xyz-loops"):
        answer = reader.get(path, headers=BROWSER)
        assert answer.status_code == 404
        assert '<a href="/local/local/experiment/jobs">Jobs</a>' in answer.text
        assert 'href="/local/local/overview">Overview of the project</a>' in answer.text


def test_a_project_of_others_none_at_all_and_no_one_signed_in_see_the_same(reader: Reader, site: Site) -> None:
    other = site.project()
    assert seen(reader, f"/local/{other}/nowhere", other) == seen(reader, "/local/none-such/nowhere", "none-such")
    reader.enter()
    foreign = seen(reader, f"/local/{other}/nowhere", other)
    assert foreign == seen(reader, "/local/none-such/nowhere", "none-such")
    assert foreign == seen(reader, "/none-such/local/nowhere", "none-such")


def seen(reader: Reader, path: str, project: str) -> str:
    answer = reader.get(path, headers=BROWSER)
    assert answer.status_code == 404 and "Jobs" not in answer.text
    return reader.text.replace(project, "PROJECT")


def test_the_page_is_in_the_language_of_the_reader(reader: Reader) -> None:
    reader.enter()
    for path in ("/nowhere", "/local/local/nowhere"):
        text = reader.get(path, headers=BROWSER | {"Accept-Language": "zh-CN"}).text
        assert "<h1>未找到</h1>" in text and "<span>此地址没有内容。</span>" in text


def test_a_method_that_is_not_taken_is_told_on_a_page_with_those_that_are(reader: Reader) -> None:
    answer = reader.get("/sign-out", headers=BROWSER)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.headers["content-type"].startswith("text/html")
    assert reader.get("/sign-out").json()["code"] == "METHOD_NOT_ALLOWED"


def test_asking_for_what_there_is_not_counts_as_asking(another_site: Callable[..., Site]) -> None:
    somebody = Reader(another_site(api_requests_per_minute=3))
    somebody.enter()
    statuses = {somebody.get("/local/local/nowhere", headers=BROWSER).status_code for _ in range(10)}
    somebody.client.close()
    assert statuses == {404, 429}


def test_it_looks_right_in_a_browser(visitor: Visitor) -> None:
    visitor.enter(("local", Role.VIEWER))
    visitor.expected.append("404")
    visitor.go("/local/local/nowhere")
    assert "There is nothing at this address." in visitor.text
    visitor.looks_right()
