"""A visit: one request for a page, with who makes it and the form it sends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from everloop.api.rates import Rates, network
from everloop.api.signed import address_of
from everloop.console import cookies, forms, pages
from everloop.console.addresses import asked
from everloop.console.turns import Turns
from everloop.errors import EverloopError, NotFound, ProjectAccessDenied, StoreUnavailable, Unauthorized
from everloop.language import Language
from everloop.service import access, sessions
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.store.database import transient

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

    @property
    def here(self) -> str:
        """The path of the project that the page is in, such as ``/local/local``."""
        return "/{workspace}/{project}".format(**self.request.path_params)

    @property
    def language(self) -> Language:
        """The reader's language: the one they switched to, else what their browser asks for."""
        return cookies.language(self.request)


Page = Callable[[Visit], Response]


def in_project(page: Page) -> Page:
    """A page below ``/WORKSPACE/PROJECT``: the visit's caller is the person as they act in that project.

    Who is not signed in is sent to do that. NotFound, the same words for both, where the person is no member of the
    project or there is none.
    """

    def scoped(visit: Visit) -> Response:
        if visit.caller is None:
            return pages.gone_to(visit.request, "/sign-in", next=asked(visit.request))
        wanted = visit.request.path_params
        unknown = NotFound("this project is not known", then="See your projects on the first page")
        try:
            acting = sessions.acting_in(visit.place, visit.caller, wanted["project"])
        except ProjectAccessDenied as error:
            raise unknown from error
        if acting.workspace_id != wanted["workspace"]:
            raise unknown
        visit.request.state.caller = acting
        return page(replace(visit, caller=acting))

    return scoped


def in_frame(page: Page) -> Page:
    """A page of a project whose errors are told within that project's frame."""

    def framed(visit: Visit) -> Response:
        try:
            return page(visit)
        except EverloopError as error:
            return pages.told(visit.request, error, visit)

    return framed


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
        except DBAPIError as error:
            if not transient(error):
                raise
            return pages.told(request, StoreUnavailable("the database does not answer", why=str(error.orig)))

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
    caller = caller_of(place, request)
    if caller is not None:
        request.state.caller = caller
        rates: Rates = request.app.state.rates
        rates.count(caller.subject)
    if request.method == "POST":
        forms.check(request, form)
    return page(Visit(request, place, form, caller))


def caller_of(place: Installation, request: Request) -> Caller | None:
    """The person whose session the browser keeps; None without one that holds."""
    session = cookies.session(request)
    if not session:
        return None
    try:
        return access.authenticate_session(place, session)
    except Unauthorized:
        return None  # an old cookie is no reason to refuse the sign-in page
