"""The envelope of every refusal: ``{"code", "message"}``, at most 8 KiB, with a code that clients know."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from starlette.responses import JSONResponse

from everloop.errors import EverloopError, RateLimited, StoreUnavailable

log = logging.getLogger("everloop.api")

MESSAGE = 2600
"""Most bytes of a message; the whole envelope stays under 8 KiB even where every character is escaped."""

KNOWN = frozenset(
    {
        "UNAUTHORIZED",
        "ACCESS_DENIED",
        "PROJECT_ACCESS_DENIED",
        "NOT_FOUND",
        "JOB_NOT_FOUND",
        "CHECKPOINT_NOT_FOUND",
        "METHOD_NOT_ALLOWED",
        "CONFLICT",
        "TRAIN_JOB_IDEMPOTENCY_CONFLICT",
        "JOB_REQUEST_CONFLICT",
        "INVALID_CURSOR",
        "INVALID_LIMIT",
        "INVALID_TRAIN_JOB_SPEC",
        "INVALID_TRAIN_JOB_METADATA",
        "INVALID_REQUEST_ID",
        "RATE_LIMITED",
        "SERVICE_UNAVAILABLE",
        "INTERNAL_SERVER_ERROR",
        "RSI_RUN_NOT_FOUND",
        "INVALID_RSI_REQUEST",
        "INVALID_STEER",
        "INVALID_DIRECTIVE",
        "RSI_CONFLICT",
        "RSI_RUN_NOT_ACTIVE",
    }
)
"""Codes of the wire contract that its clients tell apart; another one reads as a plain HTTP error there."""


def wire_error(error: EverloopError) -> tuple[int, str, str]:
    """Status, code and message of an error on the wire.

    The code is the error's own or, where clients do not know it, that of the nearest kind above it that they know.
    """
    kinds = (kind for kind in type(error).__mro__ if issubclass(kind, EverloopError) and kind is not EverloopError)
    known = next((kind for kind in kinds if kind.code in KNOWN), type(error))
    return known.status, known.code, _cut(_told(error))


def document(code: str, message: str) -> dict[str, str]:
    """The envelope itself."""
    return {"code": code, "message": _cut(message)}


def refusal(error: EverloopError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer that an error is."""
    status, code, message = wire_error(error)
    note(error)
    told = dict(headers or {}) | ({"WWW-Authenticate": "Bearer"} if status == 401 else {})
    if isinstance(error, RateLimited):
        told["Retry-After"] = str(error.retry_after)
    return JSONResponse(document(code, message), status, told)


def note(error: EverloopError) -> None:
    """Put into the log what an error says of the installation, which its envelope does not."""
    if isinstance(error, StoreUnavailable):
        log.error("%s", error.message)


def _told(error: EverloopError) -> str:
    """The words of an error for whoever asks: where the database is, and what it says, concerns its owner alone."""
    if isinstance(error, StoreUnavailable):
        return "the database does not answer. Try again in a moment"
    return error.message


def _cut(message: str) -> str:
    """At most `MESSAGE` bytes, no half characters, no control characters."""
    # cut first: a message may quote all of a body
    clean = "".join(one if one.isprintable() else " " for one in message[: MESSAGE + 1])
    raw = clean.encode(errors="replace")
    return clean if len(raw) <= MESSAGE else raw[: MESSAGE - 3].decode(errors="ignore") + "..."
