"""Whether the server lives, whether it can work, and its figures."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from everloop import __version__
from everloop.api.described import Responses, refusals, reply
from everloop.api.doors import LOOPBACK
from everloop.api.place import Place
from everloop.api.signed import address_of, known
from everloop.service import figures
from everloop.service.permissions import Permission

router = APIRouter(tags=["operation"])

TEXT = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format."""
_EXPOSITION: Responses = {200: {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}}}


@router.get("/healthz", responses=reply("Health"))
async def healthz() -> JSONResponse:
    """Whether the process answers; looks at nothing else."""
    return JSONResponse({"status": "ok", "version": __version__})


@router.get("/readyz", responses=reply("Readiness") | refusals(503, always=()))
def readyz(place: Place) -> JSONResponse:
    """Whether the database answers, and how many workers are there to carry runs (none is no failure of the server)."""
    return JSONResponse({"status": "ready", "workers": figures.workers_alive(place)})


@router.get("/metrics", responses=_EXPOSITION | refusals(401, 403, always=(429, 503)))
def metrics(request: Request, place: Place) -> Response:
    """Figures for Prometheus; from another machine, or through a proxy, with a key that reads."""
    passed_on = "x-forwarded-for" in request.headers or "forwarded" in request.headers
    if passed_on or address_of(request) not in LOOPBACK:
        known(request, place).require(Permission.READ)
    return Response(request.app.state.metrics.exposition(place), media_type=TEXT)
