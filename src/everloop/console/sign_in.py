"""Signing in with a password or a one-time link, and out again."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import cookies, pages
from everloop.console.addresses import own_path, under_root
from everloop.console.grant import GRANT, grant_page
from everloop.console.visits import Page, Visit, stranger
from everloop.errors import EverloopError, Unauthorized
from everloop.service import access, sessions
from everloop.service.single_sign_on import SingleSignOn


def sign_in_page(sso: SingleSignOn) -> Page:
    """``GET /sign-in``: the form; for who is signed in, what they came for."""

    def page(visit: Visit) -> Response:
        grant_id = visit.asked(GRANT)
        if visit.caller is not None:
            return grant_page(visit, grant_id) if grant_id else pages.gone_to(visit.request, own_path(_next(visit)))
        return form(visit, sso)

    return page


def password(sso: SingleSignOn) -> Page:
    """``POST /sign-in``: sign in with e-mail address and password."""

    def page(visit: Visit) -> Response:
        try:
            token = stranger(
                visit, lambda: sessions.sign_in(visit.place, visit.asked("email"), visit.asked("password"))[0]
            )
        except Unauthorized as error:
            visit.request.state.code = error.code
            return form(visit, sso, error, status=401)
        return signed_in(visit, token, _next(visit))

    return page


def form(visit: Visit, sso: SingleSignOn, wrong: EverloopError | None = None, status: int = 200) -> Response:
    """The sign-in form; `wrong`: why the last try did not work."""
    context = {"next": own_path(_next(visit)), "email": visit.asked("email"), "wrong": wrong, "sso": sso.offered}
    return pages.shown(visit.request, "sign_in.html", status, **context)


def link_page(visit: Visit) -> Response:
    """``GET /sign-in/link``: a button, so that a program that looks at links ahead of people does not use them up."""
    return pages.shown(visit.request, "link.html", token_of_link=visit.asked("token"))


def link(visit: Visit) -> Response:
    """``POST /sign-in/link``: sign in with a one-time link."""

    def proof() -> str:
        try:
            return sessions.use_link(visit.place, visit.asked("token"))
        except Unauthorized as error:
            raise Unauthorized("this link was used already, or is too old", then="Ask for another one") from error

    return signed_in(visit, stranger(visit, proof), "/")


def sign_out(visit: Visit) -> Response:
    """``POST /sign-out``."""
    if visit.session:
        sessions.sign_out(visit.place, visit.session)
    response = pages.gone_to(visit.request, "/sign-in")
    cookies.drop(visit.request, response, cookies.SESSION)
    return response


def signed_in(visit: Visit, token: str, next_path: str) -> Response:
    """Give the browser its new session and send it on; a session it had before ends."""
    if visit.session:
        sessions.sign_out(visit.place, visit.session)
    visit.request.state.caller = access.authenticate_session(visit.place, token)
    response = pages.gone_to(visit.request, "/")
    response.headers["location"] = under_root(visit.request, own_path(next_path))
    cookies.put(visit.request, response, cookies.SESSION, token, visit.place.settings.session_hours * 3600)
    return response


def _next(visit: Visit) -> str:
    """Where to go on to: what a page asked for, or back to the command line that waits."""
    grant_id = visit.asked(GRANT)
    return f"/sign-in?{GRANT}={grant_id}" if grant_id else visit.asked("next")
