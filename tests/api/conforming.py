"""Answers held against the OpenAPI document: every status is one that the route names, every body fits its schema."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from fastapi import FastAPI
from jsonschema import Draft202012Validator, FormatChecker

from everloop.api import documents

Document = dict[str, Any]


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of a component of the OpenAPI document."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": documents.SCHEMAS}}
    return Draft202012Validator(schema, format_checker=FormatChecker())


def conform(name: str, document: Any) -> None:
    """That a document fits the schema of this name; the first place where it does not is told."""
    error = next(iter(validator(name).iter_errors(document)), None)
    if error is not None:
        while error.context:
            error = max(error.context, key=lambda one: len(one.absolute_path))
        place = "/".join(str(part) for part in error.absolute_path)
        raise AssertionError(f"{name} at {place or 'the top'}: {error.message[:400]}")


class Conforming:
    """The routes of one OpenAPI document."""

    def __init__(self, document: Document) -> None:
        self._routes = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), method.upper(), operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]
        self._routes.sort(key=lambda one: one[0].pattern.count("[^/]+"))

    def check(self, method: str, path: str, status: int, headers: Any, content: bytes) -> None:
        """That an answer is one of those that the document tells of its route; of no route, nothing is asked."""
        plain = path.partition("?")[0].removeprefix("/api")
        found = next((one for at, how, one in self._routes if how == method and at.fullmatch(plain)), None)
        if found is None or not plain.startswith("/v1/"):
            return
        told = found["responses"].get(str(status))
        assert told is not None, f"{method} {plain}: status {status} is not documented: {content[:300]!r}"
        for kind, body in told.get("content", {}).items():
            assert headers["content-type"].partition(";")[0] == kind
            if kind == "application/json":
                named = body["schema"].get("$ref", "").rpartition("/")[2]
                if named:
                    conform(named, json.loads(content))


_OF_EVERY_SERVER: list[Conforming] = []


def conforming(app: FastAPI) -> Conforming:
    """The routes of the application; every server of a test run has the same, so that they are described once."""
    if not _OF_EVERY_SERVER:
        _OF_EVERY_SERVER.append(Conforming(app.openapi()))
    return _OF_EVERY_SERVER[0]
