"""Whether a worker is there to carry the runs on, for polls: looked up only every few seconds."""

from __future__ import annotations

import time

from starlette.datastructures import State

from everloop.console.visits import Visit
from everloop.service.figures import workers_alive

KEPT = 2.0
"""Seconds for which a process goes by what it knows; a worker counts as alive for longer than that anyway."""


def connected(visit: Visit) -> bool:
    """Whether any worker is alive, as it was at most `KEPT` seconds ago."""
    state: State = visit.request.app.state
    now = time.monotonic()
    looked, found = getattr(state, "connected", (-KEPT, False))
    if now - looked < KEPT:
        return bool(found)
    alive = workers_alive(visit.place) > 0
    state.connected = (now, alive)
    return alive
