"""Single sign-on: to the identity provider, and back from it."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from everloop.api.routes_auth import page_origin
from everloop.api.signed import address_of
from everloop.console import cookies, pages
from everloop.console.addresses import own_path
from everloop.console.sign_in import signed_in
from everloop.console.visits import Page, Visit, stranger
from everloop.errors import EverloopError
from everloop.service import audit
from everloop.service.single_sign_on import SECONDS, SingleSignOn

CALLBACK = "/sign-in/oidc/callback"
"""Path that the provider sends people back to; it must be registered there."""


def leave(sso: SingleSignOn) -> Page:
    """``GET /sign-in/oidc``: off to the provider."""

    def page(visit: Visit) -> Response:
        back, wanted = f"{page_origin(visit.request)}{CALLBACK}", own_path(visit.asked("next"))
        address, kept = stranger(visit, lambda: sso.begin(back, wanted))
        response = RedirectResponse(address, 303, pages.HEADERS)
        cookies.put(visit.request, response, cookies.JOURNEY, kept, SECONDS)
        return response

    return page


def come_back(sso: SingleSignOn) -> Page:
    """``GET /sign-in/oidc/callback``: back from the provider, signed in or told why not."""

    def page(visit: Visit) -> Response:
        kept = cookies.journey(visit.request)
        try:
            arrived = stranger(visit, lambda: sso.finish(visit.request.query_params, kept))
            response = signed_in(visit, arrived.session, arrived.next)
            _record(visit)
        except EverloopError as error:
            response = pages.told(visit.request, error)
        cookies.drop(visit.request, response, cookies.JOURNEY)
        return response

    return page


def _record(visit: Visit) -> None:
    """Put the sign-in into the audit log, which does not take up what a GET does by itself."""
    state = visit.request.state
    audit.record(
        visit.place,
        caller=state.caller,
        surface="console",
        action=f"GET {CALLBACK}",
        target=CALLBACK,
        status=303,
        code=None,
        request_id=getattr(state, "request_id", None),
        address=address_of(visit.request),
    )
