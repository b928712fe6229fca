"""The envelope: its codes, its size, its headers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop import errors
from everloop.api.envelope import KNOWN, document, refusal, wire_error
from everloop.errors import EverloopError, ModelNotConfigured, RateLimited, SupplyExhausted, Unauthorized


def kinds(above: type[EverloopError] = EverloopError) -> Iterator[type[EverloopError]]:
    for one in above.__subclasses__():
        if one.__module__ == errors.__name__:
            yield one
            yield from kinds(one)


@pytest.mark.parametrize("kind", sorted(set(kinds()), key=lambda one: one.__name__))
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


def test_a_refused_key_says_how_one_is_sent() -> None:
    assert refusal(Unauthorized("x")).headers["WWW-Authenticate"] == "Bearer"


def test_too_many_requests_say_how_long_to_wait() -> None:
    assert refusal(RateLimited("x", retry_after=7)).headers["Retry-After"] == "7"
