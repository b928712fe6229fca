"""The application: routes at ``/v1`` and ``/api/v1``, MCP beside them, the doors before everything."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute, Route

from everloop import __version__
from everloop.api import (
    faults,
    fresh,
    mcp_names,
    openapi,
    routes_approvals,
    routes_auth,
    routes_checkpoints,
    routes_identity,
    routes_jobs,
    routes_keys,
    routes_members,
    routes_runs,
    routes_status,
    routes_trials,
)
from everloop.api.doors import Doors
from everloop.api.mcp_server import PATHS, mcp_app
from everloop.api.metrics import Metrics
from everloop.api.noting import Noting
from everloop.api.polled import POLLS, Poll, Polled
from everloop.api.rates import Rates
from everloop.api.tracing import telemetry
from everloop.service import access
from everloop.service.installation import Installation

PREFIXES = ("/v1", "/api/v1")
"""Where the routes are; only the first is in the OpenAPI document."""
ROUTERS = (
    routes_runs.router,
    routes_checkpoints.router,
    routes_jobs.router,
    routes_trials.router,
    routes_approvals.router,
    routes_identity.router,
    routes_members.router,
    routes_keys.router,
    routes_auth.router,
)


def create_app(
    installation: Installation,
    pages: Sequence[BaseRoute] = (),
    polls: Sequence[Poll] = (),
    shown: faults.Shown | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> FastAPI:
    """The application of an installation, which stays the caller's to close.

    `pages` are served beside the API; `polls` are those of them that open tabs ask all the time; `shown` makes the page
    of an address at which there is nothing; `clock` is what the rate limits go by.
    """
    settings = installation.settings
    rates, metrics, until_the_end = Rates(settings.api_requests_per_minute, clock), Metrics(), ExitStack()
    hosts, origins = mcp_names.names(settings)
    mcp = mcp_app(
        installation, lambda key: access.authenticate(installation, key), hosts=hosts, origins=origins, rates=rates
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with until_the_end:
            async with mcp.running():
                yield

    app = FastAPI(
        title="Everloop",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        lifespan=lifespan,
        telemetry=until_the_end.enter_context(telemetry(settings)),
    )
    app.state.installation, app.state.rates, app.state.metrics = installation, rates, metrics
    app.state.rendered = fresh.Rendered()
    every = APIRouter()
    for router in ROUTERS:
        every.include_router(router)
    for prefix in PREFIXES:
        app.include_router(every, prefix=prefix, include_in_schema=prefix == PREFIXES[0])
    app.include_router(routes_status.router)
    app.router.routes.extend([*(Route(path, mcp.app) for path in PATHS), *pages])
    faults.install(app, shown)
    app.openapi = lambda: openapi.describe(app)  # type: ignore[method-assign]  # FastAPI's own way to replace it
    if not settings.otlp_endpoint:  # the short way makes no span with the route's name
        app.add_middleware(Polled, polls=(*POLLS, *polls))
    app.add_middleware(Doors, settings=settings, note=Noting(installation, rates, metrics))
    return app
