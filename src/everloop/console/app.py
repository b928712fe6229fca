"""The console's routes; the server mounts them beside the API's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from everloop.console import (
    approvals,
    checkpoints,
    downloads,
    grant,
    home,
    jobs,
    keys,
    languages,
    live,
    loops,
    members,
    moved,
    oidc,
    overview,
    pages,
    run,
    sign_in,
)
from everloop.console.turns import Turns
from everloop.console.visits import Page, endpoint, in_frame, in_project
from everloop.service.installation import Installation
from everloop.service.single_sign_on import SingleSignOn


class _Workspace(Convertor[str]):
    """A workspace's id; what the API begins with is none."""

    regex = r"(?!(?:v1|api|static)/)[A-Za-z0-9_-]{1,128}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


class _Project(_Workspace):
    regex = r"[A-Za-z0-9_:-]{1,128}"


register_url_convertor("workspace", _Workspace())
register_url_convertor("project", _Project())

_GROUP = "/rsi/{group:str}-loops"
_RUN = _GROUP + "/{run}"

IN_PROJECT: Mapping[str, Page] = {
    "/overview": overview.overview,
    _GROUP: loops.loops,
    _RUN: run.run,
    _RUN + "/board": run.board,
    _RUN + "/live": live.live,
    _RUN + "/pictures/{picture}.{format}": downloads.picture,
    _RUN + "/report.{format}": downloads.report,
    "/experiment/jobs": jobs.jobs,
    "/experiment/jobs/{job_id}": jobs.job,
    "/checkpoints": checkpoints.checkpoints,
    "/approvals": approvals.approvals,
    "/keys": keys.keys,
    "/members": members.members,
    "/agent-runs": moved.to_loops,
    "/agent-runs/{run}": moved.to_run,
}
"""Path below ``/WORKSPACE/PROJECT`` -> page; all of them only read."""


def routes(installation: Installation) -> list[BaseRoute]:
    """Every page of the console, and its static files."""
    sso = SingleSignOn(installation)
    shown: dict[str, Page] = {
        "/": home.home,
        "/sign-in": sign_in.sign_in_page(sso),
        "/sign-in/link": sign_in.link_page,
        "/language": languages.switch,
        "/agent-runs": moved.home_to_loops,
        "/agent-runs/{run}": moved.home_to_run,
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
        Mount("/static", _Static(directory=pages.STATIC), name="static", middleware=[_SMALLER]),
        *(
            _Page("/{workspace:workspace}/{project:project}" + path, endpoint(installation, in_project(in_frame(page))))
            for path, page in IN_PROJECT.items()
        ),
    ]


_SMALLER = Middleware(GZipMiddleware, compresslevel=6)


class _Page(Route):
    """A route that figures and audit log can name, as they can those of the API; its answers are sent compressed."""

    def __init__(
        self, path: str, answer: Callable[[Request], Awaitable[Response]], methods: Sequence[str] = ("GET",)
    ) -> None:
        super().__init__(path, answer, methods=list(methods), middleware=[_SMALLER])

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is asked for."""
        match, found = super().matches(scope)
        return match, {**found, "route": self} if match != Match.NONE else found


class _Static(StaticFiles):
    """Files that a browser keeps, but asks about: a new release shows at once."""

    def get_path(self, scope: Scope) -> str:
        """The file's name, also where a proxy has taken its own path off: the framework expects it to be there."""
        return super().get_path({**scope, "root_path": "", "path": scope["path"].rpartition("/static")[2]})

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response
