"""What goes wrong between an agent and its model: the platform's errors are raised, what the model said is told."""

from __future__ import annotations

from pydantic_ai.exceptions import (
    ContentFilterError,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)

from everloop.errors import EverloopError, ModelNotConfigured
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


def reason_of(error: Exception) -> str:
    """Why a model gave no usable answer. Raises `error` when it is not about what the model said.

    An error of the platform that the client library wrapped is raised as it was.
    """
    ours = _ours(error, set())
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
