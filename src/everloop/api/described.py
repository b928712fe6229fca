"""What the OpenAPI document says of a route: its body, its answer, each way it refuses."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from everloop.api import documents
from everloop.events import Json

Responses = dict[int | str, dict[str, Any]]

CODES: dict[int, tuple[str, ...]] = {
    401: ("UNAUTHORIZED",),
    403: ("ACCESS_DENIED", "PROJECT_ACCESS_DENIED"),
    404: ("NOT_FOUND", "RSI_RUN_NOT_FOUND", "JOB_NOT_FOUND", "CHECKPOINT_NOT_FOUND"),
    409: ("RSI_CONFLICT", "RSI_RUN_NOT_ACTIVE", "CONFLICT", "TRAIN_JOB_IDEMPOTENCY_CONFLICT", "CAP_REACHED"),
    410: ("AUTH_LOGIN_EXPIRED",),
    413: ("PAYLOAD_TOO_LARGE",),
    422: (
        "INVALID_RSI_REQUEST",
        "INVALID_STEER",
        "INVALID_DIRECTIVE",
        "INVALID_LIMIT",
        "INVALID_CURSOR",
        "INVALID_TRAIN_JOB_SPEC",
        "INVALID_TRAIN_JOB_METADATA",
        "INVALID_REQUEST_ID",
    ),
    429: ("RATE_LIMITED",),
    501: ("UNAVAILABLE",),
    503: ("SERVICE_UNAVAILABLE", "SIGN_IN_UNAVAILABLE"),
    507: ("STORAGE_FULL",),
}
"""Status -> the codes that may come with it."""
ALWAYS = (401, 403, 404, 429, 503)
"""Refusals that every route behind a key can give; 404 for an address with a zero byte in it."""


def reply(name: str, *statuses: int) -> Responses:
    """The answer of a route: the document `name` of `everloop.api.documents`, with 200 or these statuses."""
    return {status: _answer(name, status) for status in statuses or (200,)}


def refusals(*statuses: int, always: tuple[int, ...] = ALWAYS) -> Responses:
    """The refusals of a route, those that every route can give among them."""
    return {status: _refusal(status) for status in sorted({*statuses, *always})}


def file() -> Responses:
    """The answer of a route that sends a file."""
    content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {200: {"description": "The bytes of the file.", "content": content}}


def body(schema: Json, example: Json | None = None) -> dict[str, Any]:
    """``openapi_extra`` of a route that reads a JSON body of this schema."""
    content: dict[str, Any] = {"schema": schema}
    if example is not None:
        content["example"] = example
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def _answer(name: str, status: int) -> dict[str, Any]:
    told = HTTPStatus(status).phrase
    if status == HTTPStatus.NOT_MODIFIED:
        return {"description": "Nothing has changed since the answer with this entity tag."}
    content: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{name}"}}
    if name in documents.EXAMPLES:
        content["example"] = documents.EXAMPLES[name]
    return {"description": told, "content": {"application/json": content}}


def _refusal(status: int) -> dict[str, Any]:
    codes = CODES[status]
    content = {"schema": {"$ref": "#/components/schemas/Error"}, "example": {"code": codes[0], "message": "..."}}
    return {"description": ", ".join(codes), "content": {"application/json": content}}
