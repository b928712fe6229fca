"""The console's routes; the API's application mounts them at its root."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from everloop.console import grant, home, oidc, pages, sign_in
from everloop.console.turns import Turns
from everloop.console.visits import Page, endpoint
from everloop.service.installation import Installation
from everloop.service.single_sign_on import SingleSignOn


def routes(installation: Installation) -> list[BaseRoute]:
    """Every page of the console, and its stylesheet."""
    sso = SingleSignOn(installation)
    shown: dict[str, Page] = {
        "/": home.home,
        "/sign-in": sign_in.sign_in_page(sso),
        "/sign-in/link": sign_in.link_page,
    }
    sent: dict[str, Page] = {
        "/project": home.choose,
        "/sign-in/link": sign_in.link,
        "/sign-in/cli": grant.decide,
        "/sign-out": sign_in.sign_out,
    }
    hashing, asking = Turns(), Turns()  # neither may hold up the other, nor the API
    return [
        _Page("/sign-in", endpoint(installation, sign_in.password(sso), hashing), methods=["POST"]),
        _Page("/sign-in/oidc", endpoint(installation, oidc.leave(sso), asking), methods=["GET"]),
        _Page(oidc.CALLBACK, endpoint(installation, oidc.come_back(sso), asking), methods=["GET"]),
        *(_Page(path, endpoint(installation, page), methods=["GET"]) for path, page in shown.items()),
        *(_Page(path, endpoint(installation, page), methods=["POST"]) for path, page in sent.items()),
        Mount("/static", _Static(directory=pages.STATIC), name="static"),
    ]


class _Page(Route):
    """A route that figures and audit log can name, as they can those of the API."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is asked for."""
        match, found = super().matches(scope)
        return match, {**found, "route": self} if match != Match.NONE else found


class _Static(StaticFiles):
    """Files that a browser keeps, but asks about: a new release shows at once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response
