from __future__ import annotations

import re
from collections.abc import Callable

import httpx2
import pytest
from visiting import PASSWORD, Reader, Site

from everloop.service import access, people, sessions
from everloop.service.caller import LOCAL
from everloop.service.permissions import Role


def test_a_stranger_is_sent_to_the_sign_in_page(reader: Reader) -> None:
    answer = reader.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert reader.get("/sign-in").status_code == 200
    assert "Sign in" in reader.text


def test_a_person_signs_in_with_a_password_and_sees_who_they_are(reader: Reader, site: Site) -> None:
    project = site.project()
    email, _ = site.person(("local", Role.VIEWER), (project, Role.ADMIN))
    answer = reader.sign_in(email)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    reader.get("/")
    for words in (email, "Ada <Lovelace>", "Local", "Viewer", f"The {project}", "Admin"):
        assert words in reader.text
    assert "<Lovelace>" not in reader.page.text


def test_the_session_is_kept_from_scripts_and_from_other_sites(reader: Reader, site: Site) -> None:
    email, _ = site.person()
    cookie = next(one for one in reader.sign_in(email).headers.get_list("set-cookie") if one.startswith(site.cookie))
    assert {"HttpOnly", "Path=/", "SameSite=lax", "Max-Age=43200"} <= set(cookie.split("; "))
    assert "Secure" not in cookie  # plain http on loopback


def test_signing_in_and_out_is_in_the_audit_log(reader: Reader, site: Site) -> None:
    email, user_id = site.person()
    reader.sign_in(email, "wrong")
    assert any(row[1:] == (401, "UNAUTHORIZED") for row in site.recorded(None))
    reader.sign_in(email)
    reader.get("/")
    reader.send("/sign-out")
    assert [row[:2] for row in site.recorded(f"user:{user_id}")] == [("POST /sign-out", 303), ("POST /sign-in", 303)]


@pytest.mark.parametrize(
    ("email", "password"),
    [("", "wrong"), ("nobody@example.org", PASSWORD), ("", ""), ("x\ny", "wrong"), ("", "ä" * 999)],
)
def test_a_wrong_sign_in_is_told_in_the_same_words(reader: Reader, site: Site, email: str, password: str) -> None:
    known, _ = site.person()
    answer = reader.sign_in(email or known, password)
    assert answer.status_code == 401
    assert not reader.session
    assert "The e-mail address or the password is wrong." in reader.text


def test_a_person_who_was_disabled_is_out_at_once(reader: Reader, site: Site) -> None:
    email, user_id = site.person()
    reader.sign_in(email)
    people.disable_user(site.place, user_id, LOCAL)
    assert reader.get("/").headers["location"] == "/sign-in"
    assert reader.sign_in(email).status_code == 401


def test_signing_in_goes_on_to_the_page_that_was_wanted(reader: Reader, site: Site) -> None:
    email, _ = site.person()
    reader.get("/sign-in", params={"next": "/openapi.json?a=1"})
    answer = reader.send("/sign-in", email=email, password=PASSWORD)
    assert answer.headers["location"] == "/openapi.json?a=1"


@pytest.mark.parametrize("wanted", ["https://other.example", "//other.example", "/\\other.example"])
def test_signing_in_goes_on_to_no_other_site(reader: Reader, site: Site, wanted: str) -> None:
    email, _ = site.person()
    reader.get("/sign-in", params={"next": wanted})
    assert reader.send("/sign-in", email=email, password=PASSWORD).headers["location"] == "/"
    assert reader.get("/sign-in", params={"next": wanted}).headers["location"] == "/"
    assert reader.send_again(wanted, email).headers["location"] == "/"


def test_signing_in_ends_the_session_before(reader: Reader, site: Site) -> None:
    """A session that somebody else put into this browser is not kept."""
    email, _ = site.person()
    reader.sign_in(email)
    before = reader.session
    reader.get("/")
    fields = {"form_token": reader.hidden("/sign-out")["form_token"], "email": email, "password": PASSWORD}
    assert reader.post("/sign-in", fields).status_code == 303
    assert reader.session != before
    with pytest.raises(Exception, match="not known"):
        access.authenticate_session(site.place, before)


def test_signing_out_ends_the_session_everywhere(reader: Reader, site: Site) -> None:
    reader.enter()
    token = reader.session
    reader.get("/")
    assert reader.send("/sign-out").headers["location"] == "/sign-in"
    assert not reader.session
    assert httpx2.get(f"{site.url}/", cookies={site.cookie: token}).headers["location"] == "/sign-in"


def test_two_servers_on_one_host_do_not_sign_each_other_out(
    reader: Reader, site: Site, another_site: Callable[..., Site]
) -> None:
    """A browser keeps the cookies of a host together, whatever the port."""
    other = Reader(another_site())
    other.client.cookies = reader.client.cookies.jar  # type: ignore[assignment]  # the browser's
    for one in (reader, other):
        email, _ = one.site.person()
        assert one.sign_in(email).status_code == 303
    assert "Ada <Lovelace>" in (reader.get("/"), reader.text)[1]
    assert "Ada <Lovelace>" in (other.get("/"), other.text)[1]
    other.send("/sign-out")
    assert reader.get("/").status_code == 200
    other.client.close()


def test_over_https_only_a_cookie_of_this_very_host_is_believed(another_site: Callable[..., Site]) -> None:
    site = another_site(public_url="https://loops.example")
    _, user_id = site.person(password=None)
    token, _ = sessions.sign_in_user(site.place, user_id)
    for path, good, bad in (("/", 200, 303), ("/v1/me", 200, 401)):
        for name, status in (("__Host-everloop_session", good), ("everloop_session", bad), (site.cookie, bad)):
            headers = {"Host": "loops.example", "Cookie": f"{name}={token}"}
            assert httpx2.get(f"{site.url}{path}", headers=headers).status_code == status


def test_a_link_signs_in_once_and_only_when_its_button_is_pressed(reader: Reader, site: Site) -> None:
    _, user_id = site.person(password=None)
    token = sessions.make_link(site.place, user_id)
    for _ in range(2):  # a program that looks at it does not use it up
        assert reader.get("/sign-in/link", params={"token": token}).status_code == 200
    assert reader.send("/sign-in/link").headers["location"] == "/"
    assert "Ada <Lovelace>" in (reader.get("/"), reader.text)[1]
    other = Reader(site)
    other.get("/sign-in/link", params={"token": token})
    assert other.send("/sign-in/link").status_code == 401
    assert "This link was used already, or is too old." in other.text
    other.client.close()


def test_a_project_is_chosen_for_the_session(reader: Reader, site: Site) -> None:
    project = site.project()
    reader.enter(("local", Role.VIEWER), (project, Role.ADMIN))
    reader.get("/")
    assert "project.manage" not in reader.text
    assert reader.send("/project").headers["location"] == "/"
    reader.get("/")
    assert "project.manage" in reader.text
    assert access.authenticate_session(site.place, reader.session).project_id == project


def test_a_project_of_others_is_not_chosen(reader: Reader, site: Site) -> None:
    project, other = site.project(), site.project()
    reader.enter(("local", Role.VIEWER), (project, Role.ADMIN))
    reader.get("/")
    assert reader.send("/project", project_id=other).status_code == 403
    assert "no member of this project" in reader.text


def test_who_is_a_member_of_nothing_is_told(reader: Reader, site: Site) -> None:
    people.remove_member(site.place, "local", reader.enter(), LOCAL)
    assert reader.get("/").status_code == 200
    assert "not a member of any project" in reader.text


Forge = Callable[[Reader], httpx2.Response]
FORGED: dict[str, Forge] = {
    "no token": lambda reader: reader.post("/sign-out", {"form": ""}),
    "a wrong token": lambda reader: reader.send("/sign-out", form_token="0" * 64),
    "an odd token": lambda reader: reader.send("/sign-out", form_token="ä"),
    "another site": lambda reader: reader.send("/sign-out", {"Origin": "https://other.example"}),
    "no site": lambda reader: reader.send("/sign-out", {"Origin": "null"}),
    "a neighbour's port": lambda reader: reader.send("/sign-out", {"Origin": "http://127.0.0.1:1"}),
    "no cookie of the form": lambda reader: (
        reader.client.cookies.delete(reader.site.cookie.replace("session", "form")),
        reader.send("/sign-out"),
    )[1],
}


@pytest.mark.parametrize("how", FORGED)
def test_a_form_of_another_page_changes_nothing(reader: Reader, site: Site, how: str) -> None:
    reader.enter()
    reader.get("/")
    assert FORGED[how](reader).status_code == 403
    assert access.authenticate_session(site.place, reader.session)


def test_a_form_from_before_signing_in_is_of_no_use_afterwards(reader: Reader, site: Site) -> None:
    reader.get("/sign-in")
    old = reader.hidden("/sign-in")["form_token"]
    reader.enter()
    assert reader.post("/sign-out", {"form_token": old}).status_code == 403


@pytest.mark.parametrize("path", ["/sign-in", "/sign-in/link", "/project", "/sign-in/cli", "/sign-out"])
def test_every_form_needs_its_token(reader: Reader, site: Site, path: str) -> None:
    reader.enter()
    assert reader.post(path, {"project_id": "local", "token": "x"}).status_code == 403


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{}", "application/json"),
        (b"a=" + b"b" * 20_000, "application/x-www-form-urlencoded"),
        (b"&".join(b"a%d=b" % n for n in range(40)), "application/x-www-form-urlencoded"),
        (b"a=%ff", "application/x-www-form-urlencoded"),
        (b"\xff=a", "application/x-www-form-urlencoded"),
        (b"a=%00", "application/x-www-form-urlencoded"),
    ],
)
def test_what_is_no_form_is_refused(site: Site, content: bytes, kind: str) -> None:
    answer = httpx2.post(f"{site.url}/sign-in", content=content, headers={"Content-Type": kind})
    assert answer.status_code == 422


@pytest.mark.parametrize("path", ["/sign-in", "/sign-in/link?token=x", "/sign-in/oidc/callback", "/"])
def test_every_page_keeps_itself_to_itself(site: Site, path: str) -> None:
    headers = httpx2.get(f"{site.url}{path}").headers
    policy = headers["content-security-policy"]
    for rule in ("default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"):
        assert rule in policy
    assert not any(word in policy for word in ("unsafe", "http", "*"))
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("asked", ['"><script>alert(1)</script>', "{{ 7 * 7 }}", "' onfocus='alert(1)"])
def test_what_was_asked_is_shown_as_text(reader: Reader, asked: str) -> None:
    reader.get("/sign-in", params={"next": asked})
    reader.send("/sign-in", email=asked, password="x")
    assert "<script" not in reader.page.text
    assert "49" not in re.findall(r'name="email".*?value="(.*?)"', reader.page.text)
    assert "onfocus='" not in reader.page.text
    reader.get("/sign-in/link", params={"token": asked})
    assert "<script" not in reader.page.text


def test_guesses_from_one_address_come_to_an_end(another_site: Callable[..., Site]) -> None:
    site = another_site(api_requests_per_minute=50)  # ten sign-ins a minute
    email, _ = site.person()
    reader = Reader(site)
    statuses = [reader.sign_in(email, "wrong").status_code for _ in range(12)]
    assert statuses[:5] == [401] * 5
    assert statuses[-1] == 429
    assert "<h1>Too many requests</h1>" in reader.page.text
    assert int(reader.page.headers["retry-after"]) >= 1
    assert reader.sign_in(email).status_code == 429
    reader.client.close()


def test_below_the_path_of_a_proxy_every_address_is(another_site: Callable[..., Site]) -> None:
    site = another_site(public_url="https://loops.example/team/loops")
    reader = Reader(site, {"Host": "loops.example"})
    email, _ = site.person()
    page = reader.get("/team/loops/sign-in").text
    assert set(re.findall(r'(?:href|action|src)="(/[^/"]*/[^/"]*)', page)) == {"/team/loops"}
    assert reader.get("/sign-in").status_code == 200  # a proxy that takes its path off
    answer = reader.post(
        "/team/loops/sign-in",
        reader.hidden("/sign-in") | {"email": email, "password": PASSWORD},
        {"Origin": "https://loops.example"} | cookies_of(reader),
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/team/loops/")
    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-everloop_session=") and "Domain" not in cookie
    assert {"Secure", "Path=/"} <= set(cookie.split("; "))
    assert reader.get("/team/loops/static/console.css").status_code == 200
    reader.client.close()


def cookies_of(reader: Reader) -> dict[str, str]:
    """Sent by hand: the cookies are for https."""
    return {"Cookie": reader.page.headers["set-cookie"].partition(";")[0]}
