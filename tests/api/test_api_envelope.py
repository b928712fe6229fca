"""The envelope: its codes, its size, its headers."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import NoReturn

import pytest
from calling import Api, session_cookie
from hypothesis import given
from hypothesis import strategies as st

from everloop import errors
from everloop.api.envelope import KNOWN, MESSAGE, document, refusal, wire_error
from everloop.errors import (
    EverloopError,
    ModelNotConfigured,
    RateLimited,
    StoreUnavailable,
    SupplyExhausted,
    Unauthorized,
)
from everloop.service import access
from everloop.service.installation import Installation
from everloop.store.database import unavailable


def kinds(above: type[EverloopError] = EverloopError) -> Iterator[type[EverloopError]]:
    for one in above.__subclasses__():
        if one.__module__ == errors.__name__:
            yield one
            yield from kinds(one)


@pytest.mark.parametrize("kind", sorted({*kinds()} - {StoreUnavailable}, key=lambda one: one.__name__))
def test_every_error_has_a_status_and_a_code_of_its_own_or_of_its_nearest_known_kind(kind: type[EverloopError]) -> None:
    status, code, message = wire_error(kind("what", why="why", then="then"))
    assert 400 <= status < 600
    assert message == "what: why. then"
    assert code == kind.code if kind.code in KNOWN else code in {one.code for one in kind.__mro__[:-3]}


@pytest.mark.parametrize("kind", [ModelNotConfigured, SupplyExhausted])
def test_a_kind_that_clients_do_not_know_reads_as_the_one_above_it(kind: type[EverloopError]) -> None:
    assert wire_error(kind("x"))[:2] == (422, "INVALID_RSI_REQUEST")


@given(st.text(max_size=20_000))
def test_no_envelope_is_longer_than_clients_read(message: str) -> None:
    raw = refusal(EverloopError(message)).body
    assert len(raw) <= 8192
    assert set(json.loads(raw)) == {"code", "message"}


def test_the_longest_escapes_fit_as_well() -> None:
    assert len(json.dumps(document("X" * 128, "\U0001f600" * 4000)).encode()) <= 8192


def test_where_the_database_is_stands_in_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "everloop.api"):
        answer = refusal(
            StoreUnavailable("the database postgresql://box.lan/el cannot be used", why="10.0.0.5 is away")
        )
    assert answer.status_code == 503
    assert json.loads(answer.body)["code"] == "SERVICE_UNAVAILABLE"
    assert b"box.lan" not in answer.body
    assert b"10.0.0.5" not in answer.body
    assert "box.lan" in caplog.text


@pytest.mark.parametrize("key", ["elk_0123456789ab_invented", None])
def test_a_stranger_does_not_read_where_a_database_is_that_is_away(
    shared: Api, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    def away(installation: Installation, use: object) -> NoReturn:
        raise unavailable(installation.database, ConnectionError("10.0.0.5 is away"))

    monkeypatch.setattr(access, "reading", away)
    sent = {} if key else {"Cookie": session_cookie(shared.url, "els_0123456789ab_invented")}
    answer = shared.get("/v1/me", key=key, headers=sent)
    assert (answer.status, answer.code) == (503, "SERVICE_UNAVAILABLE")
    assert answer.json["message"] == "the database does not answer. Try again in a moment"


class Long(str):
    """A text of which nobody may look at every letter."""

    __slots__ = ()

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all of it is looked at")


def test_a_message_is_cut_before_it_is_looked_at() -> None:
    assert len(wire_error(EverloopError(Long("x" * 100_000)))[2]) <= MESSAGE


def test_a_refused_key_says_how_one_is_sent() -> None:
    assert refusal(Unauthorized("x")).headers["WWW-Authenticate"] == "Bearer"


def test_too_many_requests_say_how_long_to_wait() -> None:
    assert refusal(RateLimited("x", retry_after=7)).headers["Retry-After"] == "7"
