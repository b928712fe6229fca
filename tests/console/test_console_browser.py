"""The pages in a real browser: they fit, break none of their own rules, and work without scripts of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from test_console_grant import CODE, CommandLine
from visiting import PASSWORD, Site

from everloop.service import sessions
from everloop.service.permissions import Role

LOOKS = [(360, False), (360, True), (1280, False), (1280, True)]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    chromium.forget()
    chromium.problems.clear()
    yield chromium
    # a page that is an error shows up here as well, as a resource that failed to load
    assert [problem for problem in chromium.problems if not problem.startswith("Failed to load resource")] == []


def looks_right(browser: Browser) -> None:
    for width, dark in LOOKS:
        browser.look(width, dark)
        assert browser.overflow == 0, (browser.address, width)
        ground = browser.ask("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(20, 24, 22)" if dark else "rgb(247, 247, 245)")
    unnamed = (
        "[...document.querySelectorAll('input:not([type=hidden]), select')].filter(one => !one.labels.length).length"
    )
    assert browser.ask(unnamed) == 0
    assert browser.ask("document.scripts.length") == 0


def test_a_person_signs_in_and_lets_a_command_line_in(browser: Browser, site: Site) -> None:
    project = site.project()
    email, _ = site.person(("local", Role.VIEWER), (project, Role.ADMIN))
    waiting = CommandLine(site)
    browser.go(waiting.page)
    looks_right(browser)
    browser.fill("email", email)
    browser.fill("password", "wrong")
    browser.press("Sign in")
    assert "The e-mail address or the password is wrong." in browser.text
    looks_right(browser)
    browser.fill("password", PASSWORD)
    browser.press("Sign in")
    assert browser.address == waiting.page
    looks_right(browser)
    browser.fill("code", CODE)
    browser.fill("project_id", project)
    browser.press("Approve")
    assert "Approved" in browser.text
    looks_right(browser)
    assert waiting.poll()["project_id"] == project


def test_a_person_chooses_a_project_and_signs_out(browser: Browser, site: Site) -> None:
    project = site.project()
    _, user_id = site.person(("local", Role.VIEWER), (project, Role.ADMIN), password=None)
    browser.go(f"{site.url}/sign-in/link?token={sessions.make_link(site.place, user_id)}")
    looks_right(browser)
    browser.press("Sign in")
    assert browser.address == f"{site.url}/"
    looks_right(browser)
    browser.press("Choose")
    assert "project.manage" in browser.text
    browser.press("Sign out")
    assert browser.address == f"{site.url}/sign-in"


def test_single_sign_on_leads_there_and_back(browser: Browser, site: Site) -> None:
    browser.go(f"{site.url}/sign-in")
    browser.press("Continue with single sign-on")
    assert browser.address == f"{site.url}/"
    assert "Jane Doe" in browser.text


def test_an_error_is_a_page_that_fits(browser: Browser, site: Site) -> None:
    browser.go(f"{site.url}/sign-in/oidc/callback?code=x&state=y")
    assert "not begun in this browser" in browser.text
    looks_right(browser)


def test_no_other_site_can_send_the_form(browser: Browser, site: Site, tmp_path: Path) -> None:
    _, user_id = site.person(password=None)
    browser.go(f"{site.url}/sign-in/link?token={sessions.make_link(site.place, user_id)}")
    browser.press("Sign in")
    evil = tmp_path / "evil.html"
    evil.write_text(f'<form method="post" action="{site.url}/sign-out"><button>Win a prize</button></form>')
    browser.go(evil.as_uri())
    browser.press("Win a prize")
    browser.go(f"{site.url}/")
    assert browser.address == f"{site.url}/"
