"""Freezing the protocol of a run, and refusing one that could exhaust its items."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from everloop.domains.base import Domain, Verifier
from everloop.errors import InvalidRequest, SupplyExhausted
from everloop.events import Json
from everloop.evidence.gates.registry import gate_to_json, make_gate
from everloop.evidence.protocol import EvaluationProtocol
from everloop.evidence.sets import check_supply
from everloop.service.request import StartRequest

FLOOR = 0.05
"""A family may not fall by more than this share."""


SETTINGS = {
    False: "model: building costs more than measuring, so screens use all of dev_n and every move is certified",
    True: "agent: measuring costs more than building, so screens stop early and certifications wait for moves",
}
"""Setting of a run's gate, and why, by whether it is a dry run."""


def freeze(request: StartRequest, domain: Domain, student: Json | None = None) -> EvaluationProtocol:
    """The protocol of a start; `student`: who answers in a dry run.

    InvalidRequest when the domain or its supply cannot carry it.
    """
    if domain.verifier is Verifier.NONE:
        raise InvalidRequest(f"domain {domain.name} cannot be improved", why="it has no verifier")
    if domain.verifier is Verifier.SOFT:
        why = "a person must approve each certification under a soft verifier, and approvals are not there yet"
        raise InvalidRequest(f"domain {domain.name} cannot be improved", why=why)
    limits = request.limits
    dry, setting = request.dry_run, SETTINGS[request.dry_run]
    gate = make_gate(
        request.options.gate, setting=setting.partition(":")[0], dev_n=limits.dev_n, eval_limit=limits.eval_limit
    )
    judge, judge_version = domain.judge
    protocol = EvaluationProtocol(
        domain=domain.name,
        families=domain.families(),
        judge=judge,
        judge_version=judge_version,
        verifier=str(domain.verifier),
        seed=request.options.seed,
        diag_per_family=limits.diag_per_family,
        admission_n=limits.admission_n,
        dev_n=gate.dev_n or limits.dev_n,
        dev_use_cap=limits.dev_use_cap,
        certify_pairs=gate.max_pairs(),
        blind_n=limits.blind_n,
        calib_n=limits.calib_n,
        eval_limit=limits.eval_limit,
        gate=gate_to_json(gate),
        setting=setting,
        floor=FLOOR,
        rule_share=0.9,
        trainer=request.options.trainer,
        collect_tasks=0 if dry else limits.collect_tasks,
        starter_rows=0 if dry else max(domain.starter_rows(family) for family in domain.families()),
        auditors=request.options.auditors,
        rounds=request.rounds,
        student=student,
    )
    check(protocol, domain, request.rounds)
    return protocol


def check(protocol: EvaluationProtocol, domain: Domain, rounds: int, *, final_gates: int = 1) -> None:
    """SupplyExhausted when so many rounds could use more items of a single-use set than a family has."""
    supply = {family: domain.supply(family) for family in domain.families()}
    try:
        check_supply(protocol.needs(rounds, final_gates), supply)
    except SupplyExhausted as error:
        most = bisect_left(range(1, rounds), True, key=lambda fewer: not _fits(protocol, supply, fewer, final_gates))
        then = f"Use at most {most} rounds" if most else "Use smaller sizes"
        raise SupplyExhausted(error.what, why=error.why, then=then) from error


def _fits(protocol: EvaluationProtocol, supply: Mapping[str, int], rounds: int, final_gates: int) -> bool:
    try:
        check_supply(protocol.needs(rounds, final_gates), supply)
    except SupplyExhausted:
        return False
    return True
