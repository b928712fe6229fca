"""JSON Schema in few words: how the schemas of answers are put together."""

from __future__ import annotations

from collections.abc import Mapping

from everloop.events import Json, JsonValue

TEXT: Json = {"type": "string"}
TIME: Json = {"type": "string", "format": "date-time"}
"""ISO 8601 in UTC, always of the same width."""
FLAG: Json = {"type": "boolean"}
COUNT: Json = {"type": "integer", "minimum": 0}
NUMBER: Json = {"type": "number"}
AMOUNT: Json = {"type": "number", "minimum": 0}
"""US dollars, or seconds."""
SHARE: Json = {"type": "number", "minimum": 0, "maximum": 1}
SHA256: Json = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
ANYTHING: Json = {"type": "object"}
"""An object whose keys are not fixed."""


def ref(name: str) -> Json:
    """The schema of that name in the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


def told(schema: Json, description: str) -> Json:
    """The schema with a description."""
    return {**schema, "description": description}


def one_of(*values: str) -> Json:
    """One of these texts."""
    return {"type": "string", "enum": [*values]}


def array(items: Json, most: int | None = None) -> Json:
    """A list, of at most so many."""
    bound: Json = {} if most is None else {"maxItems": most}
    return {"type": "array", "items": items, **bound}


def by_name(values: Json) -> Json:
    """An object from names to such values."""
    return {"type": "object", "additionalProperties": values}


def nullable(schema: Json) -> Json:
    """The schema, or null: not known, or not there (yet)."""
    kind, choices = schema.get("type"), schema.get("enum")
    if not isinstance(kind, str):
        return {"anyOf": [schema, {"type": "null"}]}
    widened: Json = {"enum": [*choices, None]} if isinstance(choices, list) else {}
    return {**schema, "type": [kind, "null"], **widened}


def record(properties: Mapping[str, Json], *, optional: tuple[str, ...] = (), description: str = "") -> Json:
    """An object of exactly these keys, all there but the optional ones."""
    required: list[JsonValue] = [name for name in properties if name not in optional]
    named: Json = {**properties}
    said: Json = {"description": description} if description else {}
    return {"type": "object", **said, "properties": named, "required": required, "additionalProperties": False}


def listing(item: str, *, description: str = "", extra: Mapping[str, Json] | None = None) -> Json:
    """A page of a list of documents `item`; `extra`: keys that only some pages have."""
    shown = {
        "items": array(ref(item), 100),
        "next_cursor": told(nullable(TEXT), "Cursor of the next page; null at the end."),
        "observed_at": TIME,
    }
    more = dict(extra or {})
    return record(shown | more, optional=tuple(more), description=description)
