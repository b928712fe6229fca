"""Whole numbers in addresses: described as such, but read as text, so that the use case refuses what does not fit.

The contract has an order of refusals: permission, visibility, then what was asked. The framework would refuse a bad
number before it is known whether the caller may see the run at all.
"""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Path, Query
from pydantic import WithJsonSchema

from everloop.events import JsonValue

_WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def number(value: str | None) -> JsonValue:
    """The number that a text is; the text itself when it is none, for the use case to refuse."""
    return int(value) if value is not None and _WHOLE.fullmatch(value) else value


Since = Annotated[
    str | None,
    Query(description="`next_cursor` of the last answer; only newer events are given."),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 2**53}),
]
"""Query parameter: a cursor of events."""
Limit = Annotated[
    str | None,
    Query(description="Rows of a page; 25 without it."),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 100}),
]
"""Query parameter: the size of a page."""
Round = Annotated[
    str,
    Path(description="Number of a round, from 1."),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 2**31 - 1}),
]
"""Path parameter: a round."""
