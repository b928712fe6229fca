from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from oidc_provider import PERSON, OidcProvider
from visiting import Reader, Site

from everloop.service import access
from everloop.service.permissions import OF_ROLE, Role

JOURNEY = "everloop_journey"


@pytest.fixture(autouse=True)
def well_behaved(provider: OidcProvider) -> Iterator[None]:
    yield
    provider.person, provider.refuse, provider.down = dict(PERSON), "", False
    provider.change = lambda claims: None
    provider.describe = {}


def to_provider_and_back(reader: Reader, next_path: str = "/") -> httpx2.Response:
    away = reader.get("/sign-in/oidc", params={"next": next_path})
    assert away.status_code == 303, reader.text
    back = httpx2.get(away.headers["location"]).headers["location"]
    assert back.startswith(f"{reader.site.url}/sign-in/oidc/callback?")
    return reader.get(back)


def test_the_sign_in_page_offers_single_sign_on_where_it_is_set_up(
    reader: Reader, another_site: Callable[..., Site]
) -> None:
    reader.get("/sign-in")
    assert "Continue with single sign-on" in reader.text
    plain = Reader(another_site())
    plain.get("/sign-in")
    assert "single sign-on" not in plain.text
    assert plain.get("/sign-in/oidc").status_code == 503
    assert "No identity provider is set up here." in plain.text
    plain.client.close()


def test_a_person_comes_back_signed_in_where_they_wanted(reader: Reader, site: Site) -> None:
    answer = to_provider_and_back(reader, "/openapi.json")
    assert (answer.status_code, answer.headers["location"]) == (303, "/openapi.json")
    caller = access.authenticate_session(site.place, reader.session)
    assert caller.permissions == OF_ROLE[Role.DEVELOPER]
    assert not [name for name in reader.client.cookies if name.startswith(JOURNEY)]
    reader.get("/")
    assert "Jane Doe" in reader.text


def test_a_sign_in_is_in_the_audit_log(reader: Reader, site: Site) -> None:
    to_provider_and_back(reader)
    caller = access.authenticate_session(site.place, reader.session)
    assert ("GET /sign-in/oidc/callback", 303, None) in site.recorded(caller.subject)


@pytest.mark.parametrize("wanted", ["https://other.example", "//other.example", "/\\other.example"])
def test_the_way_back_leads_to_no_other_site(reader: Reader, wanted: str) -> None:
    assert to_provider_and_back(reader, wanted).headers["location"] == "/"


@pytest.mark.parametrize(
    "fault",
    [
        {"nonce": "another"},
        {"aud": "another"},
        {"exp": int(time.time()) - 600},
        {"iss": "https://other.example"},
    ],
)
def test_a_token_that_is_not_good_is_told_without_saying_why(
    reader: Reader, provider: OidcProvider, fault: dict[str, Any]
) -> None:
    provider.change = lambda claims: claims.update(fault)
    assert to_provider_and_back(reader).status_code == 401
    assert "The sign-in could not be verified. Sign in again." in reader.text
    for word in (*fault, *map(str, fault.values()), "Jane"):
        assert word not in reader.text
    assert not reader.session


def test_who_has_no_role_here_is_told(reader: Reader, provider: OidcProvider) -> None:
    provider.person |= {"sub": "someone-else", "groups": ["visitors"]}
    assert to_provider_and_back(reader).status_code == 403
    assert "may not use the project" in reader.text
    assert not reader.session


def test_a_refusal_of_the_provider_is_told_without_its_words(reader: Reader, provider: OidcProvider) -> None:
    provider.refuse = "access_denied"
    assert to_provider_and_back(reader).status_code == 403
    assert "did not let you in" in reader.text
    assert "not for you" not in reader.page.text


def test_a_provider_that_is_down_is_told_and_the_password_still_works(
    provider: OidcProvider, another_site: Callable[..., Site]
) -> None:
    provider.down = True
    site = another_site(**provider.settings)
    reader = Reader(site)
    assert reader.get("/sign-in/oidc").status_code == 503
    assert "Unavailable, try again" in reader.text
    assert provider.issuer not in reader.page.text
    email, _ = site.person()
    assert reader.sign_in(email).status_code == 303
    reader.client.close()


def test_a_way_back_that_was_not_begun_here_is_refused(reader: Reader) -> None:
    assert reader.get("/sign-in/oidc/callback?code=x&state=y").status_code == 401
    assert "not begun in this browser" in reader.text


def test_a_way_back_works_once(reader: Reader) -> None:
    away = reader.get("/sign-in/oidc").headers["location"]
    back = httpx2.get(away).headers["location"]
    assert reader.get(back).status_code == 303
    assert reader.get(back).status_code == 401


def test_the_journey_is_kept_from_scripts_for_ten_minutes(reader: Reader) -> None:
    cookies = reader.get("/sign-in/oidc").headers.get_list("set-cookie")
    cookie = next(one for one in cookies if one.startswith(JOURNEY))
    assert {"HttpOnly", "SameSite=lax", "Max-Age=600"} <= set(cookie.split("; "))


def test_two_servers_of_one_installation_share_a_journey(
    reader: Reader, provider: OidcProvider, another_site: Callable[..., Site]
) -> None:
    """As behind a balancer: one sends the person away, another one takes them back."""
    url = "https://loops.example"
    one, two = (another_site(**provider.settings, public_url=url) for _ in range(2))
    away = httpx2.get(f"{one.url}/sign-in/oidc", headers={"Host": "loops.example"})
    back = httpx2.get(away.headers["location"]).headers["location"]
    assert back.startswith(f"{url}/sign-in/oidc/callback?")
    kept = next(c for c in away.headers.get_list("set-cookie") if c.startswith(f"__Host-{JOURNEY}=")).partition(";")[0]
    answer = httpx2.get(back.replace(url, two.url), headers={"Host": "loops.example", "Cookie": kept})
    assert answer.status_code == 303
    assert any(cookie.startswith("__Host-everloop_session=") for cookie in answer.headers.get_list("set-cookie"))
