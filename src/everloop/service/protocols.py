"""Freezing the protocol of a run, and refusing one that could exhaust its items."""

from __future__ import annotations

from everloop.domains.base import Domain, Verifier
from everloop.errors import InvalidRequest
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
    """The protocol of a start; `student`: who answers in a dry run. Under a soft verifier a person approves versions.

    InvalidRequest when the domain or its supply cannot carry it.
    """
    if domain.verifier is Verifier.NONE:
        raise InvalidRequest(f"domain {domain.name} cannot be improved", why="it has no verifier")
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
    # A target beyond what the items last for is no fault: the run ends where they do, or at a cap before that.
    check(protocol, domain, 1)
    return protocol


def check(protocol: EvaluationProtocol, domain: Domain, rounds: int, *, final_gates: int = 1) -> None:
    """SupplyExhausted when the domain's items are not sure to last for so many rounds."""
    check_supply(protocol.needs(rounds, final_gates), supply_of(domain))


def supply_of(domain: Domain) -> dict[str, int]:
    """Family -> distinct items."""
    return {family: domain.supply(family) for family in domain.families()}
