"""How much of a conversation a model is sent: a constant bound, whatever the round and however long the turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponsePart,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from everloop.operators.quoting import LEFT_OUT, clip

CONTEXT_BYTES = 24_000
"""Most bytes of UTF-8 in all messages of one request, instructions among them; tool definitions come on top."""
RESULT_BYTES = 3_000
"""Most bytes of one tool result."""
OWN_BYTES = 4_000
"""Most bytes of a text or of a call's arguments that a model is shown of its own earlier answers."""
_FRAMES = 800
"""Kept free for what the client library writes around a rejected answer."""

Part = ModelRequestPart | ModelResponsePart


def keeper(instructions: str) -> Callable[[list[ModelMessage]], list[ModelMessage]]:
    """A history processor that holds every request of a turn with these instructions within `CONTEXT_BYTES`."""
    room = CONTEXT_BYTES - _FRAMES - len(instructions.encode())
    return lambda messages: bounded(messages, room)


def bounded(messages: Sequence[ModelMessage], room: int) -> list[ModelMessage]:
    """The messages in at most `room` bytes: oldest tool results and answers go first, then the owner's older messages.

    The first message, which has the task, is always whole. Calls and results stay in pairs, as providers demand.
    """
    kept = [_mapped(message, _clipped) for message in messages]
    for droppable in (_result, _said, _owned):
        for place in range(1, len(kept)):
            for number, part in enumerate(kept[place].parts):
                if size(kept) <= room:
                    return kept
                if droppable(part):
                    kept[place] = _with(kept[place], number, _shortened(part))
    return kept


def size(messages: Sequence[ModelMessage]) -> int:
    """Bytes of UTF-8 of all texts, arguments and tool names; instructions not counted."""
    return sum(_size(part) for message in messages for part in message.parts)


def _size(part: Part) -> int:
    if isinstance(part, ToolCallPart):
        return len(part.args_as_json_str().encode()) + len(part.tool_name)
    if isinstance(part, ToolReturnPart):
        return len(part.model_response_str().encode()) + len(part.tool_name)
    content = getattr(part, "content", "")
    return len((content if isinstance(content, str) else json.dumps(content, default=str)).encode(errors="replace"))


def _result(part: Part) -> bool:
    return isinstance(part, ToolReturnPart)


def _said(part: Part) -> bool:
    return isinstance(part, TextPart | ThinkingPart | ToolCallPart | RetryFeedbackPart | SystemPromptPart)


def _owned(part: Part) -> bool:
    return isinstance(part, UserPromptPart)


def _clipped(part: Part) -> Part:
    """The model's own words, clipped: nothing else bounds them."""
    if isinstance(part, TextPart) and _size(part) > OWN_BYTES:
        return _replaced(part, content=clip(part.content, OWN_BYTES))
    if isinstance(part, ToolCallPart) and _size(part) > OWN_BYTES:
        return _shortened(part)
    if isinstance(part, ToolReturnPart) and _size(part) > RESULT_BYTES:
        return _replaced(part, content=clip(part.model_response_str(), RESULT_BYTES))
    return part


def _shortened(part: Part) -> Part:
    if _size(part) <= len(LEFT_OUT) + 40:
        return part
    if isinstance(part, ToolCallPart):
        return _replaced(part, args={"note": LEFT_OUT})
    return _replaced(part, content=LEFT_OUT)


def _replaced(part: Part, **fields: object) -> Part:
    # the parts are a union of many dataclasses; each of those that come here has the field
    return cast(Part, replace(cast(Any, part), **fields))


def _mapped(message: ModelMessage, change: Callable[[Part], Part]) -> ModelMessage:
    for number, part in enumerate(message.parts):
        changed = change(part)
        if changed is not part:
            message = _with(message, number, changed)
    return message


def _with(message: ModelMessage, number: int, part: Part) -> ModelMessage:
    parts = [*message.parts[:number], part, *message.parts[number + 1 :]]
    return replace(message, parts=cast(Any, parts))
