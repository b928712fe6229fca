"""Bodies: what is taken for JSON, and what never reaches a use case."""

from __future__ import annotations

import json

import pytest

from everloop.api.bodies import DEPTH, parsed
from everloop.errors import InvalidRequest, InvalidSteer
from everloop.events import JsonValue


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "é 漢 😀", [], {}, {"a": [1, {"b": None}]}])
def test_json_is_read(value: JsonValue) -> None:
    assert parsed(json.dumps(value).encode()) == value


def test_as_many_levels_as_allowed_are_read() -> None:
    assert parsed(nested(DEPTH - 1)) is not None


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[1,]", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b"NaN", "NaN is no JSON number"),
        (b"[Infinity]", "Infinity is no JSON number"),
        (b'{"a": 1, "a": 2}', "names a key twice"),
        (b'"\\u0000"', "zero byte"),
        (b'{"a": {"\\u0000": 1}}', "zero byte"),
        (b'["\\ud800"]', "half a character"),
        (b"1" * 5000, "not JSON"),
        (nested(DEPTH + 1), "nested too deeply"),
        (nested(100_000), "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_anything_else_is_refused_with_the_reason(raw: bytes, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        parsed(raw)


def test_the_refusal_is_of_the_kind_of_the_route() -> None:
    with pytest.raises(InvalidSteer):
        parsed(b"{", InvalidSteer)
