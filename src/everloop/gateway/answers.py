"""A model's response as the text that is journalled, and back."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import cast

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelResponse, ModelResponsePart

_ADAPTER = TypeAdapter(ModelResponse)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""What JSON may carry and neither a database nor a file can hold as text: zero bytes and halves of characters."""


def cleaned(response: ModelResponse) -> ModelResponse:
    """The response with a replacement character for everything that is no text."""
    return replace(response, parts=[_part(part) for part in response.parts])


def to_text(response: ModelResponse) -> str:
    """A cleaned response as JSON."""
    return _ADAPTER.dump_json(response).decode()


def from_text(text: str) -> ModelResponse:
    """The response a journalled answer holds."""
    return _ADAPTER.validate_json(text)


def _part(part: ModelResponsePart) -> ModelResponsePart:
    found = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
    changed = {name: new for name, old in found.items() if (new := _value(old)) != old}
    return replace(part, **changed) if changed else part  # type: ignore[arg-type]  # the same fields, the same types


def _value(value: object) -> object:
    if isinstance(value, str):
        return _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_value(key): _value(inner) for key, inner in cast(dict[object, object], value).items()}
    if isinstance(value, list):
        return [_value(inner) for inner in cast(list[object], value)]
    return value
