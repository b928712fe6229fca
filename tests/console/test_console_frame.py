"""What stands around a project's pages: navigation, way, addresses below a proxy, compression, tokens, errors."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import httpx2
import pytest
import stored
from browsing import Visitor
from postgres_server import PostgresServer
from visiting import Reader, Site

from everloop.console import forms
from everloop.service import sessions
from everloop.service.permissions import Role

LOOPS = "/local/local/rsi/model-loops"
EVERYBODY = [
    "Overview",
    "RSI loops",
    "Model",
    "Infra",
    "Harness",
    "Data",
    "Search",
    "Experiment",
    "Jobs",
    "Checkpoints",
    "Project",
    "Approvals",
]


def navigation(reader: Reader) -> list[str]:
    """Titles and entries in order."""
    inside = reader.page.text.partition('<nav aria-label="Console">')[2].partition("</nav>")[0].partition("</details>")
    found = re.findall(r"<h2[^>]*>(.*?)</h2>|<li><a [^>]*>(.*?)</a></li>", inside[2])
    return [html.unescape(title or entry) for title, entry in found]


@pytest.mark.parametrize(("role", "more"), [(Role.VIEWER, []), (Role.DEVELOPER, []), (Role.ADMIN, ["Keys", "Members"])])
def test_the_navigation_has_what_the_reader_may_see_in_order(reader: Reader, role: Role, more: list[str]) -> None:
    reader.enter(("local", role))
    reader.get("/local/local/overview")
    assert navigation(reader) == EVERYBODY + more


@pytest.mark.parametrize("path", ["/overview", "/rsi/model-loops", "/rsi/search-loops", "/experiment/jobs"])
def test_the_entry_of_the_page_is_marked(reader: Reader, path: str) -> None:
    reader.enter()
    reader.get(f"/local/local{path}")
    assert re.findall(r'href="([^"]*)" aria-current="page"', reader.page.text) == [f"/local/local{path}"]


def test_the_way_to_a_page_is_told_and_leads_back(reader: Reader, site: Site) -> None:
    stored.stopped(site.place, "frame-way")
    reader.enter()
    reader.get(f"{LOOPS}/frame-way")
    way = reader.page.text.partition('<nav class="crumbs"')[2].partition("</nav>")[0]
    assert re.findall(r"<li[^>]*>(?:<a[^>]*>)?(.*?)(?:</a>)?</li>", way) == ["RSI loops", "Model", "frame-way"]
    assert f'<a href="{LOOPS}">Model</a>' in way and '<li aria-current="page">frame-way</li>' in way


def test_the_switch_leads_to_the_other_projects_of_the_person(reader: Reader, site: Site) -> None:
    project = site.project()
    reader.enter(("local", Role.VIEWER), (project, Role.VIEWER))
    reader.get("/local/local/overview")
    assert f'href="/local/{project}/overview"' in reader.page.text
    assert 'href="/local/local/overview" aria-current="true"' in reader.page.text


@pytest.mark.parametrize("path", ["/local/nowhere", "/elsewhere/local", "/local/{project}"])
def test_a_project_of_others_and_none_at_all_are_told_in_the_same_words(reader: Reader, site: Site, path: str) -> None:
    reader.enter()
    answer = reader.get(path.format(project=site.project()) + "/overview")
    assert answer.status_code == 404
    assert "This project is not known." in reader.text


def test_who_is_not_signed_in_does_that_first_and_comes_back(reader: Reader, site: Site) -> None:
    answer = reader.get(LOOPS, params={"columns": "all"})
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        "/sign-in?next=%2Flocal%2Flocal%2Frsi%2Fmodel-loops%3Fcolumns%3Dall",
    )
    reader.get(answer.headers["location"])
    _, user_id = site.person(password=None)
    reader.client.cookies.set(site.cookie, sessions.sign_in_user(site.place, user_id)[0], domain="127.0.0.1")
    assert reader.get(answer.headers["location"]).headers["location"] == f"{LOOPS}?columns=all"


@pytest.mark.parametrize("prefix", ["", "/team"], ids=["the proxy takes its path off", "the proxy leaves its path"])
def test_every_address_of_a_page_is_below_the_path_of_the_proxy(another_site: Callable[..., Site], prefix: str) -> None:
    site = another_site(public_url="https://loops.example/team")
    _, user_id = site.person(("local", Role.ADMIN), password=None)
    token, _ = sessions.sign_in_user(site.place, user_id)
    headers = {"Host": "loops.example", "Cookie": f"__Host-everloop_session={token}"}
    for path in ("/", "/local/local/overview", LOOPS, "/local/local/experiment/jobs", "/local/local/keys"):
        page = httpx2.get(f"{site.url}{prefix}{path}", headers=headers)
        assert page.status_code == 200
        addresses = re.findall(r'(?:href|src|action)="([^"]*)"', page.text)
        outside = [one for one in addresses if not one.startswith(("/team/", "#"))]
        assert not outside
        assert not any(one.startswith("/team/team/") for one in addresses)
        switch = next(html.unescape(one) for one in addresses if "/language" in one)
        assert httpx2.get(f"{site.url}{switch.removeprefix('/team')}", headers=headers).headers["location"] == (
            f"/team{path}"
        )


def test_pages_styles_and_scripts_are_sent_compressed(reader: Reader) -> None:
    reader.enter()
    for path in (LOOPS, "/static/console.css", "/static/console.js"):
        answer = reader.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.headers["content-encoding"] == "gzip", path
        assert "Accept-Encoding" in answer.headers["vary"]
        assert "content-encoding" not in reader.get(path, headers={"Accept-Encoding": "identity"}).headers


def test_no_two_pages_carry_the_same_token_and_all_of_them_are_good(reader: Reader) -> None:
    reader.enter()
    tokens = []
    for _ in range(2):
        reader.get("/")
        tokens.append(reader.hidden("/sign-out")["form_token"])
    assert tokens[0] != tokens[1]
    assert forms.unmasked(tokens[0]) == forms.unmasked(tokens[1]) != ""
    assert reader.post("/sign-out", {"form_token": tokens[0]}).status_code == 303


@pytest.mark.parametrize("odd", ["", "0", "zz", "00ff0", "ä", "0" * 64, "0" * 128])
def test_an_odd_token_is_none(reader: Reader, odd: str) -> None:
    reader.enter()
    reader.get("/")
    assert reader.post("/sign-out", {"form_token": odd}).status_code == 403


def test_a_store_that_is_away_is_told_with_a_way_to_retry_and_reads_as_no_figure(
    another_site: Callable[..., Site], postgres: PostgresServer
) -> None:
    site = another_site(database_url=postgres.fresh())
    site.place.database.patience = 0.2
    reader = Reader(site)
    reader.enter()
    postgres.stop()
    try:
        answer = reader.get(LOOPS, params={"columns": "all"})
        assert answer.status_code == 503
        assert "Unavailable, try again" in reader.text
        assert "it does not mean that there are none, that they cost nothing or that they have stopped" in reader.text
        assert "0" not in reader.text and "127" not in reader.text and "postgresql" not in reader.page.text
        assert f'<a class="button" href="{LOOPS}?columns=all">Retry</a>' in reader.page.text
    finally:
        postgres.start()
    assert reader.get(LOOPS).status_code == 200
    reader.client.close()


def test_the_frame_fits_every_screen_and_axe_finds_nothing(visitor: Visitor, site: Site) -> None:
    stored.paused(site.place, "frame-paused")
    stored.failed(site.place, "frame-failed")
    visitor.enter(("local", Role.ADMIN))
    for path in ("/", "/local/local/overview", LOOPS, f"{LOOPS}?columns=all", "/local/local/rsi/data-loops"):
        visitor.go(path)
        visitor.looks_right()


def test_on_a_telephone_the_navigation_is_a_menu_and_on_a_desk_it_is_there(visitor: Visitor) -> None:
    visitor.enter()
    visitor.look(360)
    visitor.go("/local/local/overview")
    jobs = visitor.at("nav[aria-label=Console] >> text=Jobs")
    assert not jobs.is_visible()
    visitor.at("summary >> text=Menu").click()
    assert jobs.is_visible()
    visitor.look(1280)
    visitor.go("/local/local/overview")
    assert jobs.is_visible()
    assert not visitor.at("summary >> text=Menu").is_visible()


def test_the_first_key_leads_past_the_navigation(visitor: Visitor) -> None:
    visitor.enter()
    visitor.go("/local/local/overview")
    visitor.page.keyboard.press("Tab")
    assert visitor.ask("document.activeElement.textContent") == "Skip to the content"
    visitor.page.keyboard.press("Enter")
    visitor.page.keyboard.press("Tab")
    assert visitor.ask("document.activeElement.textContent") == "Refresh"
