"""What a run is told as whose record cannot be read."""

from __future__ import annotations

from everloop.api import schemas
from everloop.api.shapes import COUNT, TEXT, TIME, nullable, one_of, record
from everloop.events import Json
from everloop.service import unreadable

_RUN: Json = {"type": "string", "pattern": schemas.RUN}
_REASON = record({"code": one_of("RUN_UNREADABLE"), "message": TEXT})
_NULL: Json = {"type": "null"}
_EMPTY: Json = {"type": "array", "maxItems": 0}


def _unreadable(keys: tuple[str, ...], description: str, **more: Json) -> Json:
    known: dict[str, Json] = {"run": _RUN, "state": one_of("unreadable"), "error": _REASON}
    return record(dict.fromkeys(keys, _NULL) | known | more, description=description)


SCHEMAS: dict[str, Json] = {
    "UnreadableRow": _unreadable(
        unreadable.SUMMARY, "The row of a run whose record cannot be read.", updated_at=nullable(TIME)
    ),
    "UnreadableRun": _unreadable(unreadable.DETAIL, "A run whose record cannot be read."),
    "UnreadableLive": _unreadable(
        unreadable.LIVE,
        "The live view of a run whose record cannot be read: no lists, and a cursor that stays.",
        events=_EMPTY,
        steers=_EMPTY,
        jobs=_EMPTY,
        next_cursor=COUNT,
    ),
}
"""Name -> schema."""
