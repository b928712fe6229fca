"""Eight rounds of a loop that learns to carry, as the store has them: every decision that a round can have is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stored_book import THRESHOLD, Book, paired, rates

from everloop.events import Json
from everloop.evidence.eprocess import log_e
from everloop.evidence.score import Change
from everloop.evidence.tally import Tally
from everloop.store import tables

PLAIN = ("add3_nocarry", "add4_nocarry", "sub3_noborrow", "sub4_noborrow")
HARD = ("add3_carry", "add4_carry", "sub3_borrow", "sub4_borrow")
FAMILIES = tuple(sorted((*PLAIN, *HARD)))
LEVELS = {
    "v0": rates(FAMILIES, 0.89, 0.99, 0.46, 0.96, 0.82, 0.99, 0.28, 0.93),
    "v1": rates(FAMILIES, 0.96, 0.99, 0.70, 0.98, 0.92, 0.99, 0.55, 0.97),
    "v2": rates(FAMILIES, 0.98, 0.99, 0.86, 0.99, 0.96, 1.0, 0.78, 0.98),
    "v3": rates(FAMILIES, 0.997, 1.0, 0.986, 1.0, 0.996, 1.0, 0.975, 0.998),
    "control": rates(FAMILIES, 0.96, 0.99, 0.82, 0.99, 0.95, 1.0, 0.74, 0.99),
}


def level(subject: str) -> dict[str, float]:
    """What a version gets right, by family."""
    return LEVELS.get(subject, LEVELS["v3"])


MODEL_MICROS = 41_300
GPU_MICROS = 16_700


@dataclass(frozen=True)
class Trial:
    """One round's only candidate and what became of it."""

    decision: str
    families: tuple[str, ...]
    reason: str = ""
    screen: tuple[int, int] | None = None
    certified: Tally | None = None
    stopped: str | None = None
    version: str | None = None
    against: str = "v0"
    job: str | None = "completed"
    refused_by: str | None = None
    replay: float = 0.3
    micros: int = MODEL_MICROS


TRIALS = (
    Trial("certified", HARD, screen=(62, 11), certified=Tally(38, 12, 324, 26), stopped="shown", version="v1"),
    Trial(
        "rejected",
        ("add4_carry", "sub4_borrow"),
        "contamination: 12 rows equal items of the dev set",
        refused_by="contamination",
        job=None,
    ),
    Trial("kept", ("add4_carry", "sub3_borrow"), screen=(27, 9), against="v1"),
    Trial(
        "certified", HARD, screen=(24, 6), certified=Tally(33, 10, 380, 57), stopped="shown", version="v2", against="v1"
    ),
    Trial(
        "reverted",
        ("sub4_borrow",),
        "certification ended: futility",
        screen=(19, 7),
        certified=Tally(6, 7, 128, 19),
        stopped="futility",
        against="v2",
    ),
    Trial("error", HARD, "the training of r6c1 ended timeout: 600 s have passed", job="timeout"),
    Trial(
        "rejected",
        PLAIN,
        "gate: screen estimate -0.035 does not reach 0.022 on 400 pairs",
        screen=(9, 23),
        replay=0.0,
    ),
    Trial(
        "certified", HARD, screen=(21, 3), certified=Tally(32, 9, 439, 0), stopped="shown", version="v3", against="v2"
    ),
)


def interventions(trial: Trial) -> list[Json]:
    names = ", ".join(trial.families)
    return [
        {
            "target": "data",
            "what": f"add up to 1000 verified samples of {names}",
            "why": f"{trial.families[-1]} 0.28 (18 of n=64)",
            "expected": f"{names} to at least 0.95",
            "risk": "samples are the head's own: what it never gets right is not among them",
        },
        {
            "target": "replay",
            "what": f"{trial.replay:.0%} of each batch repeats rows already known",
            "why": f"add3_nocarry 0.99 (63 of n=64); {len(PLAIN)} families are mastered",
            "expected": "no family falls by more than 0.05",
            "risk": "less room for the new rows in each batch",
        },
    ]


def proposal(trial: Trial) -> Json:
    names = ", ".join(trial.families)
    settings = {"steps": 500, "batch_size": 128, "learning_rate": 0.002}
    plan: Json = {"kind": "training", "families": list(trial.families), "rows_per_family": 1000, "seed_salt": 0}
    plan |= {"replay_share": trial.replay, "settings": settings, "source": "collected"}
    diff = f"--- plan of the head\n+++ this plan\n- families: {HARD[0]}\n+ families: {names}\n  steps: 500"
    rationale: Json = {
        "what": f"Train on verified samples of {names}; {trial.replay:.0%} of each batch is replay; 500 steps.",
        "why": "Diagnosis: add4_carry 0.46 (29 of n=64); sub4_borrow 0.28 (18 of n=64).",
        "expected_gain": "The mean over families would go from 0.790 (n=512) to 0.960.",
        "risks": "4 families are not trained; what is not trained can fall.",
    }
    return {"plan": plan, "diff": diff, "rationale": rationale, "interventions": interventions(trial)}


def begin(book: Book) -> None:
    """v0: gold rows, a training, a version."""
    book.event("message", f"worker 1 works on {book.run}")
    book.done("calibrate", 2)
    book.event("tool_result", "judge arith-exact 1 agrees with 100 of 100 gold items", "auditor", "judge")
    book.phase = "train"
    book.job("base", "base", 41.2)
    book.done("train", 1, "base")
    version(book, "v0", None, None)
    book.event("message", "v0 is the base: 6600 rows, checkpoints/base")


def carry(book: Book, number: int, trial: Trial) -> None:
    """One round."""
    book.round, name, began = number, f"r{number}c1", book.pass_(1)
    book.done("open", 0.1, spend=dict(book.spent), steers=[], directives=0, pending=None)
    book.event("round", f"round {number} of {len(TRIALS)} begins")
    book.done("diagnose", 6)
    book.event("tool_result", "diagnosis: " + ", ".join(f"{one} 5{number}/64" for one in FAMILIES), "operator")
    book.event("tool_call", f"propose: what would help {', '.join(trial.families)}?", "operator", "propose")
    book.done("propose", 4)
    book.event("message", f"{name} proposed: train on {', '.join(trial.families)}", "operator", "propose")
    _tried(book, name, trial)
    summary = _summary(name, trial)
    book.done("summarise", 1)
    book.event("round", f"round {number}: {trial.decision}. {summary}")
    spend = {"model_usd": trial.micros / 1e6, "gpu_usd": GPU_MICROS / 1e6 if trial.job else 0.0}
    spend |= {"total_usd": round(sum(spend.values()), 6), "model_requests": 3, "student_requests": 0}
    book.spent = {name: round(book.spent.get(name, 0.0) + value, 6) for name, value in spend.items()}
    what = proposal(trial)["rationale"]
    told = {"decision": trial.decision, "summary": summary, "version": trial.version, "spend": spend}
    plan = what["what"] if isinstance(what, dict) else None
    book.add(tables.rounds, round=number, plan=plan, started_at=began, ended_at=book.at, **told)


def _summary(name: str, trial: Trial) -> str:
    if trial.version:
        return f"{name} is certified as {trial.version}"
    return f"{name} {trial.decision}: {trial.reason}" if trial.reason else f"{name} is the new working head"


def _tried(book: Book, name: str, trial: Trial) -> None:
    reviews = {"rationale": "4 parts with figures and 2 interventions, all about this plan"}
    reviews |= {"contamination": "no row equals an item of any set"}
    if trial.job:
        book.phase = "train"
        ended = None if trial.job == "completed" else "600 s have passed"
        book.job(name, "candidate", 38.5 if trial.job == "completed" else 600.0, trial.job, reason=ended)
        book.job(f"control-{book.round:04d}", "control", 37.9)
        book.done("train", 1, name)
    screen = _screened(book, name, trial)
    if screen:
        reviews |= {"regression": "no family fell by more than 0.05", "rules": "held on 500 items"}
    if trial.refused_by:
        reviews[trial.refused_by] = trial.reason.partition(": ")[2]
    for kind, reason in reviews.items():
        review(book, name, kind, reason, passed=kind != trial.refused_by)
    certification = _certified(book, name, trial)
    candidate(book, name, trial, screen=screen, certification=certification)


def _screened(book: Book, name: str, trial: Trial) -> Json | None:
    if trial.screen is None:
        return None
    wins, losses = trial.screen
    book.done("evaluate", 9, name)
    figures: Json = {"wins": wins, "losses": losses, "pairs": 400, "estimate": (wins - losses) / 400}
    told = f"screen of {name}: {(wins - losses) / 400:+.3f} (threshold +0.022), {wins} won, {losses} lost of 400 pairs"
    book.event("tool_result", told, "loop", "gate", candidate=name, screen=figures)
    return figures | {"threshold": 0.022}


def _certified(book: Book, name: str, trial: Trial) -> Json | None:
    if trial.certified is None:
        return None
    figures = book.compared(name, trial.certified, trial.against, trial.stopped)
    book.done("certify", 1, name)
    shown = trial.version is not None
    told = f"{name} certified as {trial.version}" if shown else f"{name} not shown to beat {trial.against}"
    book.event("round", f"{told}: log e {figures['log_e']:.1f} against {THRESHOLD:.1f}", "loop", "gate", candidate=name)
    outcome = {"alpha": 0.005, "outcome": "shown" if shown else "not_shown", "at": book.at}
    occasion = f"certification-{name}"
    book.add(tables.claims, claim="certified", candidate=name, against=trial.against, occasion=occasion, **outcome)
    gate(book, occasion, trial.version or name, trial.against, trial.certified, passed=shown)
    if trial.version:
        version(book, trial.version, trial.against, name)
        for subject in (trial.version, trial.against):
            book.score(subject, "certify", level(subject), trial.certified.pairs // len(FAMILIES))
    return {"against": trial.against, **figures}


def gate(book: Book, occasion: str, candidate: str, against: str, tally: Tally, *, passed: bool, **more: Any) -> None:
    """A row of the run document's gates."""
    kind = occasion.partition("-")[0]
    mean = sum(level(candidate).values()) / len(FAMILIES)
    means = {"mean": mean, "baseline_mean": mean - (tally.estimate or 0), "missing": 0, "violations": []}
    evidence = {"log_e": log_e(tally.wins, tally.losses), "threshold": THRESHOLD}
    document = {"gate": kind, "candidate": candidate, "baseline": against, "passed": passed, **means, **paired(tally)}
    document |= {"evidence": evidence, "control_mean": None, "change_from_control": None, "at": book.at, **more}
    ordinal = len(book.rows.get(tables.gates, [])) + 1
    book.add(tables.gates, occasion=occasion, ordinal=ordinal, document=document)


def final(book: Book) -> None:
    """The final gate: v3 beats v0 and the control arm on 2,238 blind items."""
    best, arm = Tally(470, 11, 1750, 7, 1, 1), Tally(158, 15, 2060, 5)
    figures = {"mean": 0.994, "baseline_mean": 0.789, "missing": 2, "round": book.round, "alpha": 0.005}
    against = {"log_e": log_e(arm.wins, arm.losses), "threshold": THRESHOLD}
    control = {"control_mean": 0.93, "change_from_control": arm.estimate, "control_evidence": against}
    change = Change.of(arm)
    control |= {"control_low": change.low, "control_high": change.high, "control_n": change.n}
    gate(book, "final-g1", "v3", "v0", best, passed=True, beats_control=True, **figures, **control)
    for subject in ("v0", "v3", "control"):
        book.score(subject, "blind", LEVELS[subject], 280, missing=2)
    for claim, other in (("beats_base", "v0"), ("beats_control", "control")):
        told = {"occasion": "final-g1", "alpha": 0.005, "outcome": "shown", "at": book.at}
        book.add(tables.claims, claim=claim, candidate="r8c1", against=other, **told)
    text = "final gate: v3 confirmed against v0 on 2238 blind items: 0.994 against 0.789; shown to beat the control arm"
    book.done("final", 60)
    book.event("round", f"{text} (0.930)", "loop", "gate")


def version(book: Book, name: str, parent: str | None, candidate: str | None) -> None:
    artifact = {"type": "checkpoint", "path": f"checkpoints/{candidate or 'base'}", "sha256": "c1" * 32}
    more = {"parent": parent, "round": book.round, "candidate": candidate, "artifact": artifact, "at": book.at}
    rows = 6600 + 1448 * int(name[1:])
    book.add(tables.versions, ordinal=int(name[1:]), version=name, rows=rows, **more)
    book.score(name, "dev", level(name), 50)


def review(book: Book, name: str, kind: str, reason: str, *, passed: bool) -> None:
    book.add(tables.reviews, candidate=name, kind=kind, passed=passed, reason=reason, at=book.pass_(0.5))
    told = f"{kind} {'passes' if passed else 'rejects'} {name}: {reason}"
    book.event("tool_result", told, "auditor", kind, candidate=name, passed=passed)


def candidate(book: Book, name: str, trial: Trial, **figures: Json | None) -> None:
    given = proposal(trial)
    artifact = {"type": "checkpoint", "path": f"checkpoints/{name}", "sha256": "ab" * 32}
    told = {"decision": trial.decision, "reasons": [trial.reason] if trial.reason else [], "fingerprint": "f" * 64}
    built = {"artifact": artifact if trial.job == "completed" else None, "at": book.at, **told, **figures}
    book.add(tables.candidates, candidate=name, round=book.round, proposal=given, plan=given["plan"], **built)
    book.phase = "conclude"
    kind = "error" if trial.decision == "error" else "message"
    book.event(kind, _summary(name, trial), candidate=name, decision=trial.decision)
