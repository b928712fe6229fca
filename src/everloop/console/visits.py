"""A visit: one request for a page, with who makes it and the form it sends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from everloop.api.rates import Rates, network
from everloop.api.signed import address_of
from everloop.console import cookies, forms, pages
from everloop.console.turns import Turns
from everloop.errors import EverloopError, Unauthorized
from everloop.service import access
from everloop.service.caller import Caller
from everloop.service.installation import Installation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Visit:
    """One request."""

    request: Request
    """As it came."""
    place: Installation
    """The installation."""
    form: Mapping[str, str]
    """Fields of the form; none with GET."""
    caller: Caller | None
    """The person who is signed in; None: nobody."""

    @property
    def session(self) -> str:
        """The session's token; empty without one."""
        return cookies.session(self.request)

    def asked(self, name: str) -> str:
        """A field of the form, or of the address; empty when it is not there."""
        return self.form.get(name) or self.request.query_params.get(name, "")

    def person(self) -> Caller:
        """The person who is signed in. Unauthorized when nobody is."""
        if self.caller is None:
            raise Unauthorized("you are not signed in", then="Sign in, then try again")
        return self.caller


Page = Callable[[Visit], Response]


def endpoint(place: Installation, page: Page, turns: Turns | None = None) -> Callable[[Request], Awaitable[Response]]:
    """The page as Starlette calls it: in a thread, its errors as pages, its forms checked.

    `turns`: whose threads a page has that takes long, in place of those that it would share with the API.
    """

    async def answer(request: Request) -> Response:
        try:
            form = await forms.read(request) if request.method == "POST" else {}
            if turns is not None:
                return await turns.run(network(address_of(request)), lambda: _visited(place, page, request, form))
            return await run_in_threadpool(_visited, place, page, request, form)
        except EverloopError as error:
            return pages.told(request, error)

    return answer


def stranger(visit: Visit, proof: Callable[[], T]) -> T:
    """What `proof` gives; each try counts against the address it comes from, before it costs anything.

    RateLimited beyond the limit. Good tries count too: what many do at once is not known to be good until it is done.
    """
    rates: Rates = visit.request.app.state.rates
    address = address_of(visit.request)
    rates.check(address)
    rates.refused(address)
    return proof()


def _visited(place: Installation, page: Page, request: Request, form: Mapping[str, str]) -> Response:
    caller = _caller(place, request)
    if caller is not None:
        request.state.caller = caller
        rates: Rates = request.app.state.rates
        rates.count(caller.subject)
    if request.method == "POST":
        forms.check(request, form)
    return page(Visit(request, place, form, caller))


def _caller(place: Installation, request: Request) -> Caller | None:
    session = cookies.session(request)
    if not session:
        return None
    try:
        return access.authenticate_session(place, session)
    except Unauthorized:
        return None  # an old cookie is no reason to refuse the sign-in page
