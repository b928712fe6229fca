"""A visit: one request for a page, with who makes it and the form it sends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from everloop.api.rates import Rates
from everloop.api.signed import address_of
from everloop.console import cookies, forms, pages
from everloop.errors import EverloopError, Unauthorized
from everloop.service import access
from everloop.service.caller import Caller
from everloop.service.installation import Installation


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
        return self.request.cookies.get(cookies.SESSION, "")

    def asked(self, name: str) -> str:
        """A field of the form, or of the address; empty when it is not there."""
        return self.form.get(name) or self.request.query_params.get(name, "")

    def person(self) -> Caller:
        """The person who is signed in. Unauthorized when nobody is."""
        if self.caller is None:
            raise Unauthorized("you are not signed in", then="Sign in, then try again")
        return self.caller


Page = Callable[[Visit], Response]


def endpoint(place: Installation, page: Page) -> Callable[[Request], Awaitable[Response]]:
    """The page as Starlette calls it: in a thread, its errors as pages, its forms checked."""

    async def answer(request: Request) -> Response:
        try:
            form = await forms.read(request) if request.method == "POST" else {}
            return await run_in_threadpool(_visited, place, page, request, form)
        except EverloopError as error:
            return pages.told(request, error)

    return answer


def stranger(visit: Visit, proof: Callable[[], str]) -> str:
    """What `proof` gives, a session's token; refusals count against the address they come from."""
    rates: Rates = visit.request.app.state.rates
    address = address_of(visit.request)
    rates.check(address)
    try:
        return proof()
    except Unauthorized:
        rates.refused(address)
        raise


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
    session = request.cookies.get(cookies.SESSION)
    if not session:
        return None
    try:
        return access.authenticate_session(place, session)
    except Unauthorized:
        return None  # an old cookie is no reason to refuse the sign-in page
