"""Why an attempt failed: whether it is billed, repeated, counted by the circuit breaker, and what the caller is told.

Nothing of a request gets into a message: no header, no prompt, no key. Of the endpoint's own words 200 characters do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)

from everloop.errors import EverloopError, ModelRefused, ModelUnavailable
from everloop.gateway.base import Charge

SHOWN = 200
AGAIN = frozenset({408, 409, 429})
AMBIGUOUS = frozenset({408, 499, 502, 504, 520, 522, 524})
"""Statuses of something between us and the model, which may have done the work all the same."""
ODD = (ValueError, LookupError, TypeError, AttributeError, AssertionError)
"""What an answer of an unexpected shape ends in, somewhere in an SDK, once the request was sent."""
KEYLIKE = re.compile(r"\b(?:(?:sk|pk|key)[-_]|Bearer )[\w*.\-]{6,}", re.IGNORECASE)
NEXT = {
    400: "Check the model's settings; the endpoint does not take this request",
    401: "Check the API key of this model",
    403: "Check what the API key of this model may use",
    404: "Check the model's id and its base URL",
    413: "The request is too large for this model",
    422: "Check the model's settings; the endpoint does not take this request",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with one attempt."""

    what: str
    """In a few words, safe to show."""
    billed: bool
    """Whether the endpoint may have done the work: then the attempt is charged at its worst cost."""
    again: bool
    """Whether another attempt may fare better."""
    broken: bool
    """Whether it counts towards opening the circuit."""
    status: int | None = None
    """HTTP status, if there was an answer."""
    wait: float | None = None
    """Seconds the endpoint asked to wait."""
    sent: bool = True
    """Whether the request left this machine."""

    def charge(self, worst: Charge) -> Charge:
        """What the attempt costs."""
        if not self.sent:
            return Charge(0, 0)
        return worst if self.billed else Charge(0, worst.requests)

    def error(self, model: str, attempts: int) -> EverloopError:
        """What the caller is told when there is no further attempt."""
        if not self.again:
            then = NEXT.get(self.status or 0, "Check the model's configuration")
            return ModelRefused(f"model {model} refused the request", why=self.what, then=then, upstream=self.status)
        asks = f", and it asks to wait {self.wait:.0f} s" if self.wait else ""
        tried = (f"{attempts} attempts, the last: {self.what}" if attempts > 1 else self.what) + asks
        return ModelUnavailable(
            f"model {model} does not answer", why=tried, then="Try again later; `el doctor` checks the endpoint"
        )


class AttemptFailed(Exception):
    """Carries a failure from an attempt to whoever decides about the next one."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.what)
        self.failure = failure


class Incomplete(Exception):
    """A stream that ended before its finish reason."""


def failure_of(error: BaseException, sent: bool, key: str, deadline: float) -> Failure | None:
    """The failure an exception stands for; None for one that is not the endpoint's: a caller's or our own mistake."""
    if isinstance(error, ModelHTTPError):
        return _http(error, key)
    if (status := _redirect(error)) is not None:
        return Failure(f"HTTP {status}, a redirect, which is never followed", False, False, False, status)
    if not isinstance(error, (ModelConnectionError, TimeoutError, httpx2.TransportError)):
        return _garbled(error, sent)
    if not sent:
        return Failure("no connection to its endpoint", False, True, True, sent=False)
    if isinstance(error, (TimeoutError, ModelTimeoutError, httpx2.TimeoutException)):
        return Failure(f"no complete answer within {deadline:g} s", True, True, True)
    return Failure("the connection broke before the answer was complete", True, True, True)


def _http(error: ModelHTTPError, key: str) -> Failure:
    status = error.status_code
    again = status in AGAIN or status >= 500
    said = _words(error.body, key)
    what = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    # an error inside a stream comes after a 200: part of the work may have been done
    billed = error.in_stream or status in AMBIGUOUS
    return Failure(what, billed, again, status >= 500, status, error.retry_after)


def _redirect(error: BaseException) -> int | None:
    status = getattr(error.__cause__, "status_code", None)
    return status if isinstance(error, ModelAPIError) and isinstance(status, int) and 300 <= status < 400 else None


def _garbled(error: BaseException, sent: bool) -> Failure | None:
    if isinstance(error, Incomplete):
        return Failure("its stream ended before the answer was complete", True, True, True)
    if sent and isinstance(error, ModelAPIError):
        return Failure("its answer broke off with an error", True, True, True)
    if sent and isinstance(error, (UnexpectedModelBehavior, *ODD)):
        return Failure(f"its answer cannot be read ({type(error).__name__})", True, True, True)
    return None


def _words(body: object, key: str) -> str:
    """The endpoint's message, one line of it, without anything that looks like a key."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        body = inner.get("message") if isinstance(inner, Mapping) else inner
    if not isinstance(body, str):
        return ""
    text = " ".join(body.split())
    text = text.replace(key, "[key]") if key else text
    return KEYLIKE.sub("[key]", text)[:SHOWN]
