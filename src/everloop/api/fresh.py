"""Answers that a reader may already have: an entity tag made of what can change, compared before the work is done.

A few rendered answers are kept by their tag, so that many tabs on one run cost one rendering for each change. A tag
holds the whole address and the state; whether the caller may see it was decided before.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from fastapi import Request
from starlette.responses import JSONResponse, Response

from everloop.events import Json

HEADERS = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
"""A reader may keep an answer, and has to ask each time whether it still holds."""
KEPT = 256
"""Rendered answers a process keeps."""
LARGE = 64 * 1024
"""Bytes beyond which an answer is not kept."""


class Rendered:
    """The newest rendered answers of a process, by tag; bounded in number and size."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, tag: str) -> bytes | None:
        """The answer with this tag; None when it is not kept."""
        with self._lock:
            found = self._kept.get(tag)
            if found is not None:
                self._kept.move_to_end(tag)
            return found

    def put(self, tag: str, body: bytes) -> None:
        """Keep an answer, in place of the one that was longest without use."""
        if len(body) > LARGE:
            return
        with self._lock:
            self._kept[tag] = body
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)


def answer(request: Request, mark: str, make: Callable[[], Json]) -> Response:
    """304 when the request's ``If-None-Match`` names the present state, else the document with its tag.

    `mark` stands for the state of what is told and was read before `make` reads: an answer may be newer than its tag,
    never older.
    """
    tag = f'W/"{_digest(request, mark)}"'
    headers = HEADERS | {"ETag": tag}
    wanted = request.headers.get("if-none-match", "")
    if any(one.strip() in {tag, tag[2:], "*"} for one in wanted.split(",")):
        return Response(status_code=304, headers=headers)
    rendered: Rendered = request.app.state.rendered
    body = rendered.get(tag)
    if body is None:
        body = bytes(JSONResponse(make()).body)
        rendered.put(tag, body)
    return Response(body, 200, headers, "application/json")


def _digest(request: Request, mark: str) -> str:
    told = f"{request.url.path}?{request.url.query}\n{mark}"
    return hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()[:32]
