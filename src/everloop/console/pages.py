"""Pages: templates with their words escaped, and the headers that keep a page to itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from everloop import __version__
from everloop.api import envelope
from everloop.console import cookies, forms
from everloop.console.addresses import asked, group_path, run_path, under_root
from everloop.console.navigation import Crumb, frame
from everloop.console.texts import plain
from everloop.errors import EverloopError, RunUnreadable, StoreUnavailable
from everloop.language import LANGUAGES, environment
from everloop.language.vocabulary import N_

if TYPE_CHECKING:
    from everloop.console.visits import Visit

STATIC = Path(__file__).parent / "static"
"""Stylesheet, script and icon."""
POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""Content-Security-Policy of every page: files of our own alone, no script or style within the page."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}
TITLES = {
    401: N_("Not signed in"),
    403: N_("Not allowed"),
    404: N_("Not found"),
    409: N_("Already decided"),
    410: N_("Expired"),
    429: N_("Too many requests"),
    503: N_("Unavailable, try again"),
}
"""Status -> title of the page that tells of it."""

_environments = {tag: environment(PackageLoader("everloop.console"), language) for tag, language in LANGUAGES.items()}
for _one in _environments.values():
    _one.globals |= {"plain": plain, "group_path": group_path, "run_path": run_path}


def shown(request: Request, name: str, status: int = 200, **context: object) -> Response:
    """The page of a template. Its forms carry a token, for which the browser gets a cookie when it has none.

    A template has, besides `context`: ``to(path, **query)``, the address of a path of ours; ``language`` and
    ``languages``; ``asked``, the path that was asked for; ``token_name``, ``token``, ``version``; and of this package
    ``group_path``, ``run_path`` and ``plain``.
    """
    kept, session = cookies.form(request), cookies.session(request)
    secret = kept or forms.new_secret()
    html = (
        _environments[cookies.language(request).tag]
        .get_template(name)
        .render(
            to=lambda path, **query: under_root(request, path, **query),
            languages=tuple(LANGUAGES.values()),
            asked=asked(request) if request.method == "GET" else "/",
            token_name=forms.TOKEN,
            token=forms.masked(forms.token(secret, session)),
            version=__version__,
            **context,
        )
    )
    response = HTMLResponse(html, status, HEADERS)
    if not kept:
        cookies.put(request, response, cookies.FORM, secret)
    return response


def framed(visit: Visit, name: str, status: int = 200, *, crumbs: Sequence[Crumb] = (), **context: object) -> Response:
    """A page in a project: its template extends ``framed.html``, with the navigation around it.

    `crumbs`: the way on from the entry of the navigation that the page is below, the page itself with path None. A
    template has ``frame``, ``here`` (the project's path) and ``caller`` besides what `shown` gives it.
    """
    around = frame(visit, crumbs)
    return shown(visit.request, name, status, frame=around, here=visit.here, caller=visit.caller, **context)


def told(request: Request, error: EverloopError, visit: Visit | None = None) -> Response:
    """The page that an error is: what happened, why, what to do next; `visit`: the one in whose project it is told."""
    status, code, _ = envelope.wire_error(error)
    request.state.code = code
    unreadable = isinstance(error, RunUnreadable)
    title = N_("This run cannot be read.") if unreadable else TITLES.get(status, N_("This did not work"))
    again = status in {429, 503} and request.method == "GET"
    away = isinstance(error, StoreUnavailable)
    words = {"title": title, "error": error, "again": again, "away": away}
    if visit is None or status >= 500:
        response = shown(request, "told.html", status, **words)
    else:
        response = framed(visit, "told.html", status, crumbs=[(visit.language.say(title), None)], **words)
    if (wait := getattr(error, "retry_after", None)) is not None:
        response.headers["Retry-After"] = str(wait)
    return response


def gone_to(request: Request, path: str, **query: str) -> Response:
    """A redirect to a page of our own."""
    return RedirectResponse(under_root(request, path, **query), 303, HEADERS)
