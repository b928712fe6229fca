from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from visiting import PASSWORD, Reader, Site

from everloop.service import access, audit, grants, people
from everloop.service.caller import LOCAL
from everloop.service.permissions import OF_ROLE, Role
from everloop.store import tables
from everloop.values import iso, utcnow

CODE = "ABCD2345"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class CommandLine:
    """A client of the three routes, as `auth login` is one."""

    def __init__(self, site: Site, **headers: str) -> None:
        self.site, self.headers = site, headers
        self.key, self.poll_token = "epk_" + secrets.token_hex(32), secrets.token_urlsafe(32)
        hashes = {"key_hash": digest(self.key), "poll_hash": digest(self.poll_token), "code_hash": digest(CODE)}
        self.started = self.ask("start", hashes).json()
        self.page = self.started["verification_uri"]

    def ask(self, action: str, body: dict[str, Any] | None = None) -> httpx2.Response:
        asked = body or {"grant_id": self.started["grant_id"], "poll_token": self.poll_token}
        return httpx2.post(f"{self.site.url}/v1/auth/cli/{action}", json=asked, headers=self.headers)

    def poll(self) -> dict[str, Any]:
        return dict(self.ask("poll").json())


@pytest.fixture
def waiting(site: Site) -> CommandLine:
    return CommandLine(site)


def test_the_page_is_of_the_same_origin_as_the_api(waiting: CommandLine, site: Site) -> None:
    assert waiting.page == f"{site.url}/sign-in?cli_login={waiting.started['grant_id']}"


@pytest.mark.parametrize(
    ("host", "page"),
    [
        ("loops.example", "https://loops.example/team/sign-in"),
        ("localhost", "http://localhost/team/sign-in"),
    ],
)
def test_the_page_is_where_the_command_line_reaches_us(another_site: Callable[..., Site], host: str, page: str) -> None:
    site = another_site(public_url="https://loops.example/team")
    assert CommandLine(site, Host=host).page.partition("?")[0] == page


def test_after_the_approval_the_key_works_in_the_project_that_was_chosen(
    waiting: CommandLine, reader: Reader, site: Site
) -> None:
    project = site.project()
    user_id = reader.enter(("local", Role.VIEWER), (project, Role.DEVELOPER))
    reader.get(waiting.page)
    assert reader.send("/sign-in/cli", code="abcd-2345", project_id=project, decision="approve").status_code == 200
    assert project in reader.text
    assert waiting.poll() == {"status": "approved", "workspace_id": "local", "project_id": project}
    caller = access.authenticate(site.place, waiting.key)
    assert (caller.project_id, caller.permissions) == (project, OF_ROLE[Role.DEVELOPER])
    answer = httpx2.get(
        f"{site.url}/v1/agent-runs/rsi/runs",
        headers={"Authorization": f"Bearer {waiting.key}", "X-Project-ID": project, "X-Workspace-ID": "local"},
    )
    assert answer.status_code == 200
    people.disable_user(site.place, user_id, LOCAL)
    with pytest.raises(Exception, match="not known"):
        access.authenticate(site.place, waiting.key)


def test_who_is_not_signed_in_does_that_first_and_comes_back(waiting: CommandLine, reader: Reader, site: Site) -> None:
    email, _ = site.person()
    reader.get(waiting.page)
    answer = reader.send("/sign-in", email=email, password=PASSWORD)
    assert f"{site.url}{answer.headers['location']}" == waiting.page
    reader.get(answer.headers["location"])
    assert "Let a command line in?" in reader.text
    assert CODE not in reader.page.text


def test_the_way_over_single_sign_on_leads_back_too(waiting: CommandLine, reader: Reader, site: Site) -> None:
    reader.get(waiting.page)
    link = reader.page.text.partition('class="button" href="')[2].partition('"')[0]
    away = reader.get(link)
    answer = reader.get(httpx2.get(away.headers["location"]).headers["location"])
    assert f"{site.url}{answer.headers['location']}" == waiting.page


def test_a_wrong_code_is_told_and_can_be_tried_again(waiting: CommandLine, reader: Reader) -> None:
    reader.enter()
    reader.get(waiting.page)
    assert reader.send("/sign-in/cli", code="WRONG", project_id="local", decision="approve").status_code == 422
    assert "This is not the code of that command line." in reader.text
    assert waiting.poll() == {"status": "pending"}
    assert reader.send("/sign-in/cli", code=CODE, project_id="local", decision="approve").status_code == 200


@pytest.mark.parametrize("code", ["WRONG", CODE])
def test_the_session_stays_in_its_project_whatever_the_code(
    waiting: CommandLine, reader: Reader, site: Site, code: str
) -> None:
    project = site.project()
    user_id = reader.enter(("local", Role.VIEWER), (project, Role.DEVELOPER))
    reader.get(waiting.page)
    reader.send("/sign-in/cli", code=code, project_id=project, decision="approve")
    assert access.authenticate_session(site.place, reader.session).project_id == "local"
    recorded = audit.pages(site.place, LOCAL, 100).items
    assert {row["project_id"] for row in recorded if row["subject"] == f"user:{user_id}"} == {project}


def test_the_project_that_was_chosen_stays_chosen_after_a_wrong_code(
    waiting: CommandLine, reader: Reader, site: Site
) -> None:
    project = site.project()
    reader.enter(("local", Role.VIEWER), (project, Role.DEVELOPER))
    reader.get(waiting.page)
    reader.send("/sign-in/cli", code="WRONG", project_id=project, decision="approve")
    assert f'value="{project}" selected' in reader.page.text


def test_the_addresses_of_one_network_are_one(
    another_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grants, "EACH", 1)
    site = another_site(trusted_proxy="127.0.0.1")
    addresses = ("2001:db8::1", "2001:db8:0:1::1", "2001:db8::2:1")
    waiting = [CommandLine(site, **{"X-Forwarded-For": address}) for address in addresses]
    assert [one.poll()["status"] for one in waiting] == ["cancelled", "pending", "pending"]


def test_one_address_keeps_no_other_command_line_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "EACH", 2)
    waiting = [CommandLine(site) for _ in range(3)]
    assert [one.poll()["status"] for one in waiting] == ["cancelled", "pending", "pending"]


def test_a_person_denies(waiting: CommandLine, reader: Reader) -> None:
    reader.enter()
    reader.get(waiting.page)
    assert reader.send("/sign-in/cli", decision="deny").status_code == 200
    assert "Denied" in reader.text
    assert waiting.poll() == {"status": "denied"}
    assert reader.get(waiting.page).status_code == 409


def test_nobody_approves_for_a_project_of_others(waiting: CommandLine, reader: Reader, site: Site) -> None:
    reader.enter()
    reader.get(waiting.page)
    answer = reader.send("/sign-in/cli", code=CODE, project_id=site.project(), decision="approve")
    assert answer.status_code == 403
    assert waiting.poll() == {"status": "pending"}


def test_who_is_a_member_of_nothing_cannot_approve(waiting: CommandLine, reader: Reader, site: Site) -> None:
    user_id = reader.enter()
    reader.get(waiting.page)
    people.remove_member(site.place, "local", user_id, LOCAL)
    answer = reader.send("/sign-in/cli", code=CODE, project_id="local", decision="approve")
    assert answer.status_code == 403
    assert reader.get(waiting.page).status_code == 403
    assert "member of no project" in reader.text
    assert waiting.poll() == {"status": "pending"}


def test_without_signing_in_nobody_decides(waiting: CommandLine, reader: Reader) -> None:
    reader.get(waiting.page)
    token = reader.hidden("/sign-in")["form_token"]
    fields = {"form_token": token, "cli_login": waiting.started["grant_id"], "code": CODE, "decision": "approve"}
    assert reader.post("/sign-in/cli", fields).status_code == 401
    assert waiting.poll() == {"status": "pending"}


@pytest.mark.parametrize("grant_id", ["00000000-0000-4000-8000-000000000000", "x", '"><script>'])
def test_an_unknown_grant_is_told(reader: Reader, grant_id: str) -> None:
    reader.enter()
    assert reader.get("/sign-in", params={"cli_login": grant_id}).status_code == 404
    assert "There is no such sign-in." in reader.text


def test_after_a_cancel_the_key_does_not_work(waiting: CommandLine, reader: Reader, site: Site) -> None:
    reader.enter()
    reader.get(waiting.page)
    reader.send("/sign-in/cli", code=CODE, project_id="local", decision="approve")
    assert waiting.ask("cancel").json() == {"status": "cancelled"}
    with pytest.raises(Exception, match="not known"):
        access.authenticate(site.place, waiting.key)


@pytest.mark.parametrize(
    ("action", "body", "status", "code"),
    [
        ("start", {"key_hash": "x"}, 422, "INVALID_RSI_REQUEST"),
        ("start", {"key_hash": "0" * 64, "poll_hash": "0" * 64, "code_hash": 1}, 422, "INVALID_RSI_REQUEST"),
        ("poll", {"grant_id": "x", "poll_token": "y"}, 404, "NOT_FOUND"),
        ("cancel", {"grant_id": "x", "poll_token": "y"}, 404, "NOT_FOUND"),
        ("poll", {"grant_id": "x"}, 422, "INVALID_RSI_REQUEST"),
        ("cancel", {"grant_id": "x", "poll_token": "y", "more": 1}, 422, "INVALID_RSI_REQUEST"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_envelope(
    waiting: CommandLine, action: str, body: dict[str, Any], status: int, code: str
) -> None:
    answer = waiting.ask(action, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_grant_on_which_nobody_decided_in_time_is_gone(waiting: CommandLine, reader: Reader, site: Site) -> None:
    reader.enter()
    with site.place.database.write() as tx:
        mine = tables.grants.c.grant_id == waiting.started["grant_id"]
        tx.execute(sa.update(tables.grants).where(mine).values(expires_at=iso(utcnow())))
    answer = waiting.ask("poll")
    assert (answer.status_code, answer.json()["code"]) == (410, "AUTH_LOGIN_EXPIRED")
    assert reader.get(waiting.page).status_code == 410
    assert "This sign-in has expired" in reader.text


def test_guesses_at_grants_from_one_address_come_to_an_end(another_site: Callable[..., Site]) -> None:
    waiting = CommandLine(another_site(api_requests_per_minute=50))
    guess = {"grant_id": waiting.started["grant_id"], "poll_token": "guess"}
    statuses = [waiting.ask("poll", guess).status_code for _ in range(12)]
    assert (statuses[0], statuses[-1]) == (404, 429)
