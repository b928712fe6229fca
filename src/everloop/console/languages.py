"""The switch of the reader's language."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import cookies, pages
from everloop.console.addresses import own_path, under_root
from everloop.console.visits import Visit
from everloop.errors import InvalidRequest
from everloop.language import LANGUAGES

KEPT = 365 * 24 * 3600
"""Seconds for which a browser keeps the choice."""


def switch(visit: Visit) -> Response:
    """``GET /language?to=TAG&next=PATH``: remember the language in this browser and go back, to a page of ours only."""
    tag = visit.asked("to")
    if tag not in LANGUAGES:
        raise InvalidRequest(f"language {tag!r:.40} is not known", then=f"Known: {', '.join(LANGUAGES)}")
    response = pages.gone_to(visit.request, "/")
    response.headers["location"] = under_root(visit.request, own_path(visit.asked("next")))
    cookies.put(visit.request, response, cookies.LANGUAGE, tag, KEPT)
    return response
