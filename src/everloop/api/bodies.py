"""Bodies of requests: JSON, read once, within bounds, nothing in it that a database or a log could not hold."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, NoReturn

from fastapi import Depends, Request

from everloop.errors import InvalidDirective, InvalidRequest, InvalidSteer, InvalidTrainJobSpec
from everloop.events import JsonValue

DEPTH = 32
"""Most levels of nesting."""


def json_body(error: type[InvalidRequest]) -> Callable[[Request], Awaitable[JsonValue]]:
    """A dependency that gives the parsed body; `error` is raised for one that is not acceptable JSON."""

    async def read(request: Request) -> JsonValue:
        return parsed(await request.body(), error)

    return read


def parsed(raw: bytes, error: type[InvalidRequest] = InvalidRequest) -> JsonValue:
    """JSON in UTF-8 without zero bytes, halves of characters, NaN, repeated keys or more than 32 levels."""
    try:
        found: JsonValue = json.loads(raw.decode("utf-8"), parse_constant=_constant, object_pairs_hook=_unique)
    except UnicodeDecodeError as fault:
        raise error("the body is not UTF-8", why=f"byte {fault.start}") from fault
    except RecursionError as fault:
        raise error("the body is nested too deeply", then=f"Use at most {DEPTH} levels") from fault
    except ValueError as fault:
        raise error("the body is not JSON", why=str(fault)[:200]) from fault
    _check(found, error)
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object names a key twice")
    return made


def _check(found: JsonValue, error: type[InvalidRequest]) -> None:
    """Look at every text and level without recursion."""
    level: list[JsonValue] = [found]
    for _ in range(DEPTH):
        below: list[JsonValue] = []
        for one in level:
            if isinstance(one, str):
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
    if "\0" in one or any("\ud800" <= letter <= "\udfff" for letter in one):
        raise error("the body holds text that is none", why="a zero byte or half a character")


RsiBody = Annotated[JsonValue, Depends(json_body(InvalidRequest))]
"""Parameter type: the parsed body of a request on runs."""
SteerBody = Annotated[JsonValue, Depends(json_body(InvalidSteer))]
"""Parameter type: the parsed body of a steer."""
DirectiveBody = Annotated[JsonValue, Depends(json_body(InvalidDirective))]
"""Parameter type: the parsed body of a directive."""
JobBody = Annotated[JsonValue, Depends(json_body(InvalidTrainJobSpec))]
"""Parameter type: the parsed body of a request on train jobs."""
