"""The pages in a real browser: they fit, break none of their own rules, and work without scripts of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import Visitor
from test_console_grant import CODE, CommandLine
from visiting import PASSWORD, Site

from everloop.service import sessions
from everloop.service.permissions import Role

UNNAMED = "[...document.querySelectorAll('input:not([type=hidden]), select')].filter(one => !one.labels.length).length"


def looks_right(visitor: Visitor) -> None:
    visitor.looks_right()
    assert visitor.ask(UNNAMED) == 0


@pytest.mark.parametrize(("dark", "ground"), [(False, "rgb(247, 247, 245)"), (True, "rgb(20, 24, 22)")])
def test_the_page_is_bright_by_day_and_dark_by_night(visitor: Visitor, dark: bool, ground: str) -> None:
    visitor.go("/sign-in")
    visitor.look(1280, dark)
    assert visitor.ask("getComputedStyle(document.body).backgroundColor") == ground


def test_a_person_signs_in_and_lets_a_command_line_in(visitor: Visitor, site: Site) -> None:
    project = site.project()
    email, _ = site.person(("local", Role.VIEWER), (project, Role.ADMIN))
    waiting = CommandLine(site)
    page = visitor.go(waiting.page)
    looks_right(visitor)
    page.fill("[name=email]", email)
    page.fill("[name=password]", "wrong")
    visitor.expected.append("401")
    visitor.press("Sign in")
    assert "The e-mail address or the password is wrong." in visitor.text
    looks_right(visitor)
    page.fill("[name=password]", PASSWORD)
    visitor.press("Sign in")
    assert page.url == waiting.page
    looks_right(visitor)
    page.fill("[name=code]", CODE)
    page.select_option("[name=project_id]", project)
    visitor.press("Approve")
    assert "Approved" in visitor.text
    looks_right(visitor)
    assert waiting.poll()["project_id"] == project


def test_a_person_chooses_a_project_and_signs_out(visitor: Visitor, site: Site) -> None:
    project = site.project()
    _, user_id = site.person(("local", Role.VIEWER), (project, Role.ADMIN), password=None)
    page = visitor.go(f"/sign-in/link?token={sessions.make_link(site.place, user_id)}")
    looks_right(visitor)
    visitor.press("Sign in")
    assert page.url == f"{site.url}/"
    looks_right(visitor)
    visitor.press(f"Choose The {project}")
    assert "project.manage" in visitor.text
    visitor.press("Sign out")
    assert page.url == f"{site.url}/sign-in"


def test_single_sign_on_leads_there_and_back(visitor: Visitor, site: Site) -> None:
    page = visitor.go("/sign-in")
    visitor.press("Continue with single sign-on")
    page.wait_for_url(f"{site.url}/")
    assert "Jane Doe" in visitor.text


def test_an_error_is_a_page_that_fits(visitor: Visitor) -> None:
    visitor.expected.append("40[0-9]")
    visitor.go("/sign-in/oidc/callback?code=x&state=y")
    assert "not begun in this browser" in visitor.text
    looks_right(visitor)


def test_no_other_site_can_send_the_form(visitor: Visitor, site: Site, tmp_path: Path) -> None:
    visitor.enter()
    evil = tmp_path / "evil.html"
    evil.write_text(f'<form method="post" action="{site.url}/sign-out"><button>Win a prize</button></form>')
    visitor.expected.append("40[0-9]")
    page = visitor.go(evil.as_uri())
    visitor.press("Win a prize")
    page = visitor.go("/")
    assert page.url == f"{site.url}/"


def test_the_pages_work_where_scripts_are_off(visit: Callable[..., Visitor]) -> None:
    visitor = visit(java_script_enabled=False)
    visitor.enter()
    visitor.go("/")
    visitor.press("Sign out")
    assert visitor.page.url.endswith("/sign-in")
