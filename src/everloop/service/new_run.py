"""A run as it is recorded when it starts: what was asked for, what it can cost, where it was started."""

from __future__ import annotations

import platform
from math import inf

import psutil

from everloop import __version__
from everloop.evidence.gates import Gate, gate_from_json
from everloop.evidence.planning import worst_case
from everloop.evidence.protocol import EvaluationProtocol
from everloop.loop.jobs import ATTEMPTS
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.request import StartRequest
from everloop.service.roles import Roles
from everloop.store.runs import NewRun, RunRow
from everloop.students.registry import trainer as find_trainer


def made(
    installation: Installation, request: StartRequest, protocol: EvaluationProtocol, caller: Caller, roles: Roles
) -> NewRun:
    """What is recorded of a run when it starts."""
    return NewRun(
        run=request.run,
        kind="model",
        group="model",
        level="capability",
        domain=request.domain,
        mode="dry" if request.dry_run else "live",
        brief=request.brief,
        owner=caller.to_json(),
        workspace_id=caller.workspace_id,
        project_id=caller.project_id,
        seed=request.options.seed,
        rounds_target=request.rounds,
        limits=request.limits.to_json(),
        goal=request.goal.to_json() if request.goal else None,
        stop=request.stop.to_json(),
        options=request.options.to_json() | roles.names(),
        protocol=protocol.to_json(),
        protocol_sha256=protocol.sha256,
        worst_case_usd=_worst_case(installation, request, roles, gate_from_json(dict(protocol.gate))),
        machine=machine(),
    )


def is_there(row: RunRow | None, new: NewRun, asked_at: str) -> bool:
    """Whether this very call wrote the row in an earlier try, whose answer was lost.

    `asked_at`: the moment of the call, to the microsecond, which the row has as the time it was made. A start of the
    same id by the same caller beside it is another call, and one of the two has to be told that the id is taken.
    """
    return row is not None and (row.created_at, row.owner) == (asked_at, new.owner)


def _worst_case(installation: Installation, request: StartRequest, roles: Roles, gate: Gate) -> float:
    """Most that the run can cost, US dollars; never above ``usd_cap``.

    Models: their cap, unless every one of them is free of charge. Jobs: a base, and a candidate and a control block
    each round, each to its time limit and launched as often as a lost one is.
    """
    settings = installation.settings
    if request.dry_run:
        return min(request.limits.model_usd_cap, request.limits.usd_cap or inf) if roles.paid else 0.0
    inline = find_trainer(request.options.trainer).capabilities().inline
    jobs = 0 if inline else ATTEMPTS * (2 * request.rounds + 1)
    job_usd = settings.local_usd_per_hour * settings.job_time_limit_seconds / 3600
    cost = worst_case(gate, rounds=request.rounds, blind_n=request.limits.blind_n, job_usd=job_usd, jobs=jobs)
    usd = cost.usd + (request.limits.model_usd_cap if roles.paid else 0.0)
    return usd if request.limits.usd_cap is None else min(usd, request.limits.usd_cap)


def machine() -> str:
    """Host, cores and device, as the run document tells them."""
    return f"{platform.node()}, {psutil.cpu_count()} cores, cpu {platform.machine()}, everloop {__version__}"
