"""Bodies of requests: JSON, read once, within bounds, nothing in it that a database or a log could not hold."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import NoReturn

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from everloop.errors import InvalidRequest
from everloop.events import JsonValue

DEPTH = 32
"""Most levels of nesting."""
VALUES = 10_000
"""Most values of a body; a start, the longest but a train job, has some fifty."""
JOB_VALUES = 1_500_000
"""Most values of a train job, names of fields included: more than 100,000 rows of four fields have."""
AT_ONCE = 64 * 1024
"""Most bytes that are parsed where they are read; more, in a thread, so that nobody else waits for it."""

_MARKS = (b",", b"[", b"{")
# possessive, and with an end for a text that has none: else each of a million quotes is looked at to the very end
_TEXT = re.compile(rb'"[^"]*+(?:"|\Z)')
_STRETCH = re.compile(rb'(?:[^"]++|' + _TEXT.pattern + rb"){1,4096}+")


def json_body(
    error: type[InvalidRequest], *, before: Callable[..., object], values: int = VALUES
) -> Callable[..., Awaitable[JsonValue]]:
    """A dependency that gives the parsed body; `error` is raised for one that is not acceptable JSON.

    `before`: the dependency that says whether this caller may send one at all; no byte is read until it has.
    """

    async def body(request: Request, _: object = Depends(before)) -> JsonValue:
        return await read(request, error, values)

    return body


async def read(request: Request, error: type[InvalidRequest] = InvalidRequest, values: int = VALUES) -> JsonValue:
    """The parsed body. TooLarge from the doors for one that is too long."""
    return await parsed_aside(await request.body(), error, values)


async def parsed_aside(raw: bytes, error: type[InvalidRequest] = InvalidRequest, values: int = VALUES) -> JsonValue:
    """As `parsed`, in a thread if it is long."""
    if len(raw) <= AT_ONCE:
        return parsed(raw, error, values)
    return await run_in_threadpool(parsed, raw, error, values)


def parsed(raw: bytes, error: type[InvalidRequest] = InvalidRequest, values: int = VALUES) -> JsonValue:
    """JSON in UTF-8 without zero bytes, halves of characters, NaN, repeated keys or more than 32 levels.

    `values`: most of them. They are counted first: the parser makes ten million lists of 20 MB without once letting
    another thread work.
    """
    if _many(raw, values):
        raise error("the body holds too many values", then="Send less in one request")
    try:
        found: JsonValue = json.loads(raw.decode("utf-8"), parse_constant=_constant, object_pairs_hook=_unique)
    except UnicodeDecodeError as fault:
        raise error("the body is not UTF-8", why=f"byte {fault.start}") from fault
    except RecursionError as fault:
        raise error("the body is nested too deeply", then=f"Use at most {DEPTH} levels") from fault
    except ValueError as fault:
        raise error("the body is not JSON", why=str(fault)[:200]) from fault
    # a zero byte and half a character come in as escapes alone: as they are, they are no JSON and no UTF-8
    _check(found, error, texts=b"\\u" in raw)
    return found


def _many(raw: bytes, most: int) -> bool:
    """Whether there are more than so many marks and texts; marks inside texts count only for the quick look."""
    if _marks(raw) < most:
        return False
    found, plain = 0, raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    for stretch in _STRETCH.finditer(plain):  # in stretches, between which other threads work
        rest, texts = _TEXT.subn(b"", stretch[0])
        found += texts + _marks(rest)
        if found >= most:
            return True
    return False


def _marks(raw: bytes) -> int:
    return sum(raw.count(mark) for mark in _MARKS)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object names a key twice")
    return made


def _check(found: JsonValue, error: type[InvalidRequest], *, texts: bool) -> None:
    """Look at every level, and at every text where one may be wrong, without recursion."""
    level: list[JsonValue] = [found]
    for _ in range(DEPTH):
        below: list[JsonValue] = []
        for one in level:
            if isinstance(one, str):
                if texts:
                    _text(one, error)
            elif isinstance(one, list):
                below += one
            elif isinstance(one, dict):
                below += [*one.keys(), *one.values()]
        if not below:
            return
        level = below
    raise error("the body is nested too deeply", then=f"Use at most {DEPTH} levels")


def _text(one: str, error: type[InvalidRequest]) -> None:
    try:
        one.encode()
    except UnicodeEncodeError as fault:
        raise error("the body holds text that is none", why="half a character") from fault
    if "\0" in one:
        raise error("the body holds text that is none", why="a zero byte")
