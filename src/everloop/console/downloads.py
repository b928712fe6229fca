"""What a reader takes along: pictures as SVG and CSV, the report of a run as HTML and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.responses import Response

from everloop import pictures
from everloop.console.pages import HEADERS
from everloop.console.visits import Visit
from everloop.errors import NotFound, RunUnreadable
from everloop.events import Json
from everloop.language import Language
from everloop.pictures import Picture
from everloop.report.html import html
from everloop.report.markdown import markdown
from everloop.service import history, runs

POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Content-Security-Policy of a file: where a browser opens it all the same, it can do nothing and load nothing."""
MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""Begins a CSV that is not plain ASCII: without it spreadsheets take it for another encoding."""

_PICTURES: Mapping[str, tuple[str, Callable[[Picture], str]]] = {
    "svg": ("image/svg+xml", pictures.standalone),
    "csv": ("text/csv", lambda picture: _marked(picture.csv())),
}
_REPORTS: Mapping[str, tuple[str, Callable[[Json, Json | None, Language], str]]] = {
    "html": ("text/html", html),
    "md": ("text/markdown", markdown),
}


def picture(visit: Visit) -> Response:
    """A picture of a run in the reader's language. NotFound for one that there is not, or that has nothing to draw."""
    run, name, form = _asked(visit, "run", "picture", "format")
    if form not in _PICTURES or name not in pictures.NAMES:
        raise NotFound("there is no such picture", then=f"Pictures: {', '.join(pictures.NAMES)}; as svg or csv")
    document, past = _record(visit, run)
    found = next(one for one in pictures.of(document, past, visit.language) if one.name == name)
    if form == "svg" and not found.svg:
        raise NotFound("there is nothing to draw yet", why=found.told)
    kind, written = _PICTURES[form]
    return _file(written(found), kind, f"{run}-{name}.{form}")


def report(visit: Visit) -> Response:
    """The report of a run in the reader's language, which says so where the run's past cannot be read.

    NotFound for a format that there is not, RunUnreadable for a record that cannot be read at all.
    """
    run, form = _asked(visit, "run", "format")
    if form not in _REPORTS:
        raise NotFound("there is no such report", then=f"Reports: {', '.join(_REPORTS)}")
    kind, written = _REPORTS[form]
    document, past = _record(visit, run)
    if document.get("state") == "unreadable":
        raise RunUnreadable("the record of this run cannot be read, so nothing is known of what it has shown")
    return _file(written(document, past, visit.language), kind, f"{run}-report.{form}")


def _asked(visit: Visit, *names: str) -> list[str]:
    return [str(visit.request.path_params[name]) for name in names]


def _record(visit: Visit, run: str) -> tuple[Json, Json | None]:
    """Run document and history; without the latter where the record cannot be read."""
    document = runs.document(visit.place, run, caller=visit.person())
    try:
        return document, history.of(visit.place, run, visit.person())
    except RunUnreadable:
        return document, None


def _marked(text: str) -> str:
    return text if text.isascii() else MARK + text


def _file(text: str, kind: str, name: str) -> Response:
    """A file that a browser saves under this name."""
    safe = "".join(one if one.isascii() and (one.isalnum() or one in "-_.") else "-" for one in name)
    headers = {
        **HEADERS,
        "Content-Security-Policy": POLICY,
        "Content-Disposition": f'attachment; filename="{safe}"',
    }
    return Response(text, 200, headers, f"{kind}; charset=utf-8")
