"""What the served gateway answers instead of a completion: errors in OpenAI's shape, free of anything private."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pydantic import ValidationError

from everloop.errors import (
    CapReached,
    EverloopError,
    InvalidRequest,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    StorageFull,
    StoreUnavailable,
)
from everloop.events import Json

if TYPE_CHECKING:
    from starlette.responses import JSONResponse

log = logging.getLogger("everloop.gateway")

RETRY_SECONDS = 5
"""``Retry-After`` of a refusal that may not hold a moment later."""


class Refusal(Exception):
    """A request that is not answered; its message may be shown to whoever asked."""

    def __init__(self, status: int, kind: str, code: str, message: str) -> None:
        self.status, self.kind, self.code, self.message = status, kind, code, message
        super().__init__(code)

    def to_json(self) -> Json:
        """OpenAI's envelope."""
        return {"error": {"message": self.message, "type": self.kind, "param": None, "code": self.code}}

    def response(self) -> JSONResponse:
        """As a whole answer. Clients are told which refusals are worth another try: those of 503 only."""
        from starlette.responses import JSONResponse

        headers = {"x-should-retry": "true" if self.status == 503 else "false"}
        if self.status == 503:
            headers["retry-after"] = str(RETRY_SECONDS)
        if self.status in {408, 413}:
            headers["connection"] = "close"  # what is left of the body would be taken for the next request
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return JSONResponse(self.to_json(), self.status, headers)


def invalid(message: str, code: str = "invalid_request") -> Refusal:
    """A request that is malformed, or asks for what is not offered."""
    return Refusal(400, "invalid_request_error", code, message)


def malformed(error: ValidationError) -> Refusal:
    """The first thing wrong with a request, by its place; never what stood there."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return invalid(f"{place}: {first['msg']}" if place else first["msg"])


def unavailable(message: str, code: str) -> Refusal:
    """Nothing wrong with the request; it may be answered later."""
    return Refusal(503, "server_error", code, message)


def refusal(error: BaseException) -> Refusal:
    """The refusal an error becomes. What a provider said stays here: it can hold keys, prompts and addresses."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, CapReached):
        return Refusal(429, "insufficient_quota", "cap_reached", error.message)
    if isinstance(error, ModelRefused):
        return Refusal(502, "server_error", "model_refused", "the model's endpoint refuses this request")
    if isinstance(error, ModelUnavailable):
        return unavailable("the model does not answer", "model_unavailable")
    if isinstance(error, ModelNotConfigured):
        return unavailable("the model cannot be used: it has no key or no known price", "model_not_configured")
    if isinstance(error, InvalidRequest):
        return invalid("the model cannot be asked this within a known cost", "unsupported")
    if isinstance(error, StoreUnavailable | StorageFull):
        return unavailable("the gateway cannot record a request now", "service_unavailable")
    return _unexpected(error)


def _unexpected(error: BaseException) -> Refusal:
    """Where it happened is logged, what it says is not: the text of a foreign error can hold a prompt."""
    from pydantic_ai.exceptions import UserError

    if isinstance(error, UserError):
        return invalid("the model does not take a request of this form", "unsupported")
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    where = f"{step.tb_frame.f_code.co_filename}:{step.tb_lineno}" if step else "an unknown place"
    code = error.code if isinstance(error, EverloopError) else type(error).__name__
    log.error("a request failed: %s at %s", code, where)
    return Refusal(500, "server_error", "internal_error", "the gateway failed to answer")
