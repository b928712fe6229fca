"""Pages that take long: few at once, a short queue, and none of the API's threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx2
import pytest
from oidc_provider import Hanging
from visiting import Reader, Site

from everloop.console import turns
from everloop.service import _passwords, identity_provider, keys
from everloop.service.caller import LOCAL
from everloop.service.keys import KeyRequest
from everloop.service.permissions import KeyKind

MANY = 45
"""More than the threads that the API's requests share."""


class Slow:
    """Checks of passwords that take until they are let go."""

    def __init__(self) -> None:
        self.entered, self.go = 0, threading.Event()

    def verified(self, password: str, stored: str | None) -> bool:
        self.entered += 1
        self.go.wait(60)
        return False


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow()
    monkeypatch.setattr(_passwords, "verified", made.verified)
    yield made
    made.go.set()


class Stranger:
    """Somebody with a sign-in form, who sends it without waiting for the answer."""

    def __init__(self, site: Site, address: str = "") -> None:
        self.headers = {"Origin": site.url} | ({"X-Forwarded-For": address} if address else {})
        self.url, reader = f"{site.url}/sign-in", Reader(site)
        reader.get("/sign-in")
        self.form = reader.hidden("/sign-in") | {"email": "nobody@example.org", "password": "wrong"}
        self.cookies = dict(reader.client.cookies)
        reader.client.close()

    def send(self) -> httpx2.Response:
        return httpx2.post(self.url, data=self.form, headers=self.headers, cookies=self.cookies, timeout=60)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def me(site: Site) -> httpx2.Response:
    """A request to the API with a good key, which goes through the threads that requests share."""
    key, _ = keys.create_key(site.place, KeyRequest(name="test", kind=KeyKind.READ_ONLY, permissions=[]), LOCAL)
    headers = {"Authorization": f"Bearer {key}"}
    return httpx2.get(f"{site.url}/v1/me", headers=headers, timeout=15)


def refused(sent: list[Future[httpx2.Response]]) -> list[httpx2.Response]:
    return [one.result() for one in sent if one.done() and one.result().status_code == 429]


def test_a_flood_of_sign_ins_leaves_the_api_its_threads(another_site: Callable[..., Site], slow: Slow) -> None:
    site = another_site()
    stranger = Stranger(site)
    with ThreadPoolExecutor(MANY) as pool:
        sent = [pool.submit(stranger.send) for _ in range(MANY)]
        until(lambda: len(refused(sent)) == MANY - turns.EACH)
        until(lambda: slow.entered == turns.AT_ONCE)
        assert me(site).status_code == 200
        assert slow.entered == turns.AT_ONCE
        assert {one.headers["retry-after"] for one in refused(sent)} == {str(turns.RETRY)}
        slow.go.set()
        assert sum(one.result().status_code == 401 for one in sent) == turns.EACH


def test_a_flood_of_one_address_leaves_others_their_turn(another_site: Callable[..., Site], slow: Slow) -> None:
    site = another_site(trusted_proxy="127.0.0.1")
    flood, other = Stranger(site, "10.0.0.1"), Stranger(site, "10.0.0.2")
    with ThreadPoolExecutor(MANY) as pool:
        sent = [pool.submit(flood.send) for _ in range(MANY)]
        until(lambda: len(refused(sent)) == MANY - turns.EACH)
        waits = pool.submit(other.send)
        slow.go.set()
        assert waits.result().status_code == 401


def test_the_queue_has_an_end_for_all_addresses_together(another_site: Callable[..., Site], slow: Slow) -> None:
    site = another_site(trusted_proxy="127.0.0.1")
    most = turns.AT_ONCE + turns.WAITING
    with ThreadPoolExecutor(MANY) as pool:
        strangers = [Stranger(site, f"10.0.0.{number}") for number in range(most + 2)]
        sent = [pool.submit(one.send) for one in strangers]
        until(lambda: len(refused(sent)) == 2)
        slow.go.set()
        assert sum(one.result().status_code == 401 for one in sent) == most


def test_a_sign_in_counts_before_its_password_is_compared(
    another_site: Callable[..., Site], slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "AT_ONCE", 20)
    monkeypatch.setattr(turns, "EACH", 20)
    stranger = Stranger(another_site(api_requests_per_minute=50))  # ten strangers a minute
    with ThreadPoolExecutor(11) as pool:
        for number in range(10):
            pool.submit(stranger.send)
            until(lambda wanted=number + 1: slow.entered == wanted)  # type: ignore[misc]
        assert stranger.send().status_code == 429
        assert slow.entered == 10
        slow.go.set()


def test_a_provider_that_hangs_leaves_the_api_its_threads(
    provider: object, another_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity_provider, "TIMEOUT", 60.0)
    monkeypatch.setattr(identity_provider, "PATIENCE", 0.1)
    with Hanging() as hanging, ThreadPoolExecutor(MANY) as pool:
        site = another_site(oidc_issuer=hanging.url, oidc_client_id="a", oidc_client_secret="b")
        sent = [pool.submit(httpx2.get, f"{site.url}/sign-in/oidc", timeout=60) for _ in range(MANY)]
        until(lambda: sum(one.done() for one in sent) == MANY - 1)
        hanging.wait_for_one()
        assert me(site).status_code == 200
        hanging.let_go()
        assert {one.result().status_code for one in sent} <= {429, 503}
        assert hanging.connections == 1


def test_leaving_for_the_provider_counts_like_a_sign_in(another_site: Callable[..., Site]) -> None:
    with Hanging() as hanging:
        hanging.let_go()
        settings = {"oidc_issuer": hanging.url, "oidc_client_id": "a", "oidc_client_secret": "b"}
        site = another_site(api_requests_per_minute=50, **settings)
        statuses = [httpx2.get(f"{site.url}/sign-in/oidc").status_code for _ in range(11)]
    assert statuses == [503] * 10 + [429]
