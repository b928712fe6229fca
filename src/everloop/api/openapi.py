"""The OpenAPI document: routes as FastAPI sees them, with our components in place of its own error shapes."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from everloop.api import documents

ABOUT = (
    "Start, watch, steer and stop improvement loops. Every refusal is `{code, message}`; lists are "
    "`{items, next_cursor, observed_at}`; times are ISO 8601 in UTC; money is in US dollars; null means unknown."
)


def describe(app: FastAPI) -> dict[str, Any]:
    """The document, made once and kept."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=ABOUT, routes=app.routes)
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        schemas.update(documents.SCHEMAS)
        for operations in made["paths"].values():
            for operation in operations.values():
                operation["responses"] = _ours(operation["responses"])
        app.openapi_schema = made
    return app.openapi_schema


def _ours(responses: dict[str, Any]) -> dict[str, Any]:
    """Without what FastAPI adds of itself: a 422 in its own shape, a 200 of any shape beside the answer there is."""
    kept: dict[str, Any] = {}
    for status, told in responses.items():
        content = {kind: one for kind, one in told.get("content", {}).items() if one.get("schema")}
        if any(one["schema"].get("$ref", "").endswith("/HTTPValidationError") for one in content.values()):
            continue
        if content or "content" not in told:
            kept[status] = {**told, "content": content} if content else told
    return kept
