"""What goes wrong between an agent and its model: the platform's errors are raised, what the model said is told."""

from __future__ import annotations

import json

from pydantic_ai.exceptions import (
    ContentFilterError,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelResponse, ToolCallPart

from everloop.errors import EverloopError, ModelNotConfigured, ModelRefused
from everloop.gateway.base import Use
from everloop.operators.base import Desk
from everloop.operators.quoting import clean, clip

_MOST = 400


def at_desk(desk: Desk | None, role: Use) -> Desk:
    """The desk, if it has a model for the role. ModelNotConfigured otherwise."""
    if desk is None or not desk.has(role):
        then = f"Configure one with `el model add ... --for {role}`"
        raise ModelNotConfigured(f"there is no model for the {role}", then=then)
    return desk


def unwritable(response: ModelResponse) -> str:
    """Why an answer can't be worked with at all: no request could repeat it. Empty for every other answer."""
    try:
        for part in response.parts:
            said = part.args if isinstance(part, ToolCallPart) else getattr(part, "content", "")
            json.dumps([getattr(part, "tool_name", ""), said], ensure_ascii=False, default=str).encode()
    except ValueError:  # halves of characters, or a number of thousands of digits
        return "an answer that cannot be written down as text"
    return ""


def reason_of(error: Exception) -> str:
    """Why a model gave no usable answer. Raises `error` when it is not about what the model said.

    An error of the platform that the client library wrapped is raised as it was. That the endpoint does not take this
    very request is a reason: it would be the same request again, for ever, if the run paused over it.
    """
    ours = _ours(error, set())
    if isinstance(ours, ModelRefused) and ours.of_request:
        return clip(" ".join(clean(f"its endpoint does not take the request ({ours.message})").split()), _MOST)
    if ours is not None:
        raise ours
    if isinstance(error, ContentFilterError):
        return "its provider's content filter refused the answer"
    if isinstance(error, OutputTokenLimitExceeded):
        return "the answer was cut off at the token limit"
    if isinstance(error, UsageLimitExceeded):
        return "it used up its requests without handing in an answer"
    if isinstance(error, UnexpectedModelBehavior):
        return clip(" ".join(clean(f"{error.message}{_cause(error)}").split()), _MOST)
    raise error


def _cause(error: Exception) -> str:
    return f" ({error.__cause__})" if error.__cause__ else ""


def _ours(error: BaseException | None, seen: set[int]) -> EverloopError | None:
    """The platform's own error in an exception, its causes and its groups."""
    if error is None or id(error) in seen:
        return None
    seen.add(id(error))
    if isinstance(error, EverloopError):
        return error
    inner = list(error.exceptions) if isinstance(error, BaseExceptionGroup) else []
    for one in (*inner, error.__cause__, error.__context__):
        found = _ours(one, seen)
        if found is not None:
            return found
    return None
