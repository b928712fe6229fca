"""A model's response as the text that is journalled, and back."""

from __future__ import annotations

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelResponse

_ADAPTER = TypeAdapter(ModelResponse)


def to_text(response: ModelResponse) -> str:
    """A response as JSON."""
    return _ADAPTER.dump_json(response).decode()


def from_text(text: str) -> ModelResponse:
    """The response a journalled answer holds."""
    return _ADAPTER.validate_json(text)
