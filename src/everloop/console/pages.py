"""Pages: templates with their words escaped, and the headers that keep a page to itself."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from everloop import __version__
from everloop.api import envelope
from everloop.console import cookies, forms
from everloop.console.addresses import under_root
from everloop.errors import EverloopError

STATIC = Path(__file__).parent / "static"
"""Stylesheet and pictures."""
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""Content-Security-Policy of every page: no scripts, nothing of another site."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}
TITLES = {401: "Not signed in", 403: "Not allowed", 404: "Not found", 409: "Already decided", 410: "Expired"}
"""Status -> title of the page that tells of it."""

_templates = Environment(
    loader=PackageLoader("everloop.console"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def _sentence(text: str) -> str:
    """The words of an error as a sentence."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?", "!")) else ".")


_templates.filters["sentence"] = _sentence


def shown(request: Request, name: str, status: int = 200, **context: object) -> Response:
    """The page of a template. Its forms carry a token, for which the browser gets a cookie when it has none."""
    kept, session = cookies.form(request), cookies.session(request)
    secret = kept or forms.new_secret()
    html = _templates.get_template(name).render(
        to=lambda path, **query: under_root(request, path, **query),
        token_name=forms.TOKEN,
        token=forms.token(secret, session),
        version=__version__,
        **context,
    )
    response = HTMLResponse(html, status, HEADERS)
    if not kept:
        cookies.put(request, response, cookies.FORM, secret)
    return response


def told(request: Request, error: EverloopError) -> Response:
    """The page that an error is: what happened, why, what to do next."""
    status, code, _ = envelope.wire_error(error)
    request.state.code = code
    title = TITLES.get(status, "Unavailable, try again" if status in {429, 503} else "This did not work")
    response = shown(request, "told.html", status, title=title, error=error)
    if (wait := getattr(error, "retry_after", None)) is not None:
        response.headers["Retry-After"] = str(wait)
    return response


def gone_to(request: Request, path: str, **query: str) -> Response:
    """A redirect to a page of our own."""
    return RedirectResponse(under_root(request, path, **query), 303, HEADERS)
