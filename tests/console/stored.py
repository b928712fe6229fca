"""Runs as the store has them, in every state, without a worker: for pages, pictures, reports and their benchmarks.

Each function writes one run (or many) of an installation and gives its name; more keyword arguments are columns of the
run's row. They are of the project ``local`` unless a caller of another one is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from stored_book import Book
from stored_rounds import TRIALS, Trial, begin, carry, final, gate, proposal
from stored_row import book_of, end, starting

from everloop.evidence.tally import Tally
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.store import approvals, phases, tables
from everloop.store.approvals import ApprovalRow
from everloop.values import iso, utcnow

HOSTILE = "<script>alert('x')</script> </textarea>\" onload='x' \u202eevil\u202c " + "long" * 300


def finished(
    place: Installation,
    run: str,
    *,
    caller: Caller = LOCAL,
    edit: Callable[[Book], None] = lambda book: None,
    **changes: Any,
) -> str:
    """A run that has done its eight rounds and was confirmed by its final gate, against v0 and the control arm.

    `edit`: changes its rows before they are written.
    """
    starting(place, run, caller=caller)
    book = book_of(run, caller)
    begin(book)
    for number, trial in enumerate(TRIALS, 1):
        carry(book, number, trial)
        if number == 3:
            _steered(book)
    final(book)
    book.phase = "end"
    book.event("round", f"run {run} finished: the target is reached", state="finished")
    edit(book)
    ended = {"state": "finished", "round": 8, "best_version": "v3", "working_head": "r8c1", "ended_at": book.at}
    return end(place, book, **ended | changes)


def unconfirmed(place: Installation, run: str, **changes: Any) -> str:
    """A finished run whose final gate did not show that its best version is better."""
    finished(place, run, **changes)
    with place.database.write() as tx:
        where = (tables.gates.c.run == run, tables.gates.c.occasion == "final-g1")
        document = dict(tx.execute(sa.select(tables.gates.c.document).where(*where)).scalar_one())
        document |= {"passed": False, "change": 0.004, "low": -0.006, "high": 0.014, "beats_control": False}
        document |= {
            "evidence": {"log_e": 0.4, "threshold": 5.3},
            "control_evidence": {"log_e": -1.2, "threshold": 5.3},
        }
        document |= {"mean": 0.793, "change_from_control": -0.137}
        tx.execute(sa.update(tables.gates).where(*where).values(document=document))
        final_claims = (tables.claims.c.run == run, tables.claims.c.occasion == "final-g1")
        tx.execute(sa.update(tables.claims).where(*final_claims).values(outcome="not_shown"))
    return run


def running(place: Installation, run: str, *, caller: Caller = LOCAL, **changes: Any) -> str:
    """A run in its fifth round that compares on fresh items at this moment; one steer waits."""
    starting(place, run, caller=caller)
    book = book_of(run, caller)
    begin(book)
    for number, trial in enumerate(TRIALS[:4], 1):
        carry(book, number, trial)
    _steered(book)
    book.round, book.phase = 5, "certify"
    book.add(tables.rounds, round=5, started_at=book.at)
    book.event("round", "round 5 of 8 begins")
    book.job("r5c1", "candidate", 31.0)
    book.compared("r5c1", Tally(9, 4, 200, 27), "v2")
    _candidate(book, "r5c1", TRIALS[4])
    book.job("control-0005", "control", None, "running", returncode=None)
    book.event("message", "r5c1 against v2: 9 won, 4 lost of 240 fresh pairs so far", "loop", "gate")
    now = {"state": "running", "round": 5, "phase": "certify", "best_version": "v2", "working_head": "r5c1"}
    return end(place, book, **{"updated_at": iso(utcnow())} | now | changes)


def paused(place: Installation, run: str, *, caller: Caller = LOCAL, **changes: Any) -> str:
    """A run that waits for a person's word on a certification, under a soft verifier."""
    starting(place, run, caller=caller)
    book = book_of(run, caller)
    begin(book)
    book.round, book.phase = 1, "certify"
    book.add(tables.rounds, round=1, started_at=book.at)
    _candidate(book, "r1c1", TRIALS[0])
    tally = Tally(38, 12, 324, 26)
    book.compared("r1c1", tally, "v0", "shown")
    gate(book, "certification-r1c1", "r1c1", "v0", tally, passed=False)
    evidence = book.rows.pop(tables.gates)[0]["document"] | {"passed": None}
    row = _approval(book, evidence)
    why = f"r1c1 is shown to beat v0 and waits for approval {row.approval_id}: the verifier of arith is soft, so a "
    message = why + f"person decides. Decide with `el approve decide {row.approval_id}` and --approve or --reject"
    book.event("error", f"run {run} paused: APPROVAL_NEEDED: {message}; it goes on when that is decided")
    error = {"code": "APPROVAL_NEEDED", "message": message}
    state = {"state": "paused", "round": 1, "phase": "certify", "best_version": "v0", "working_head": "r1c1"}
    return end(place, book, **state | {"error": error} | changes)


def failed(place: Installation, run: str, *, caller: Caller = LOCAL, **changes: Any) -> str:
    """A run that has failed for good in its second round."""
    message = "KeyError in phase evaluate of round 2. The worker's log has the traceback"
    return _broken(place, run, caller, "failed", {"code": "INTERNAL_SERVER_ERROR", "message": message}, changes)


def stopped(place: Installation, run: str, *, caller: Caller = LOCAL, **changes: Any) -> str:
    """A run that its owner stopped after the first round; its waiting steer was dropped."""
    return _broken(place, run, caller, "stopped", None, changes)


def dry(place: Installation, run: str, **changes: Any) -> str:
    """A finished dry run: prompts, no jobs, nothing trained."""
    finished(place, run, mode="dry", **changes)
    with place.database.write() as tx:
        tx.execute(sa.delete(tables.jobs).where(tables.jobs.c.run == run))
        artifact = {"type": "config", "path": "prompts/r1c1", "sha256": "ab" * 32}
        where = tables.versions.c.run == run
        tx.execute(sa.update(tables.versions).where(where).values(rows=None, artifact=artifact))
    return run


def bare(place: Installation, run: str, *, caller: Caller = LOCAL, **changes: Any) -> str:
    """A run of which as little is known as the store allows: nulls in everything that can be null."""
    starting(place, run, caller=caller)
    book = book_of(run, caller)
    book.event("message", "", None)
    book.rows[tables.events][-1] |= {"round": None, "phase": None}
    book.add(tables.rounds, round=1, started_at=book.at)
    book.add(tables.candidates, candidate="r1c1", round=1, proposal={}, plan={}, fingerprint="", reasons=[], at=book.at)
    book.add(tables.versions, ordinal=0, version="v0", artifact={}, at=book.at)
    book.add(tables.scores, subject="v0", set="dev", split="all", n=0, missing=400)
    book.add(tables.gates, occasion="final-g1", ordinal=1, document={"gate": "final", "candidate": None, "mean": None})
    book.add(
        tables.claims, claim="beats_base", candidate="r1c1", against="v0", occasion="x", outcome="not_shown", at=book.at
    )
    nothing = {"phase": None, "best_version": None, "working_head": None, "machine": None, "worst_case_usd": None}
    return end(place, book, money=False, **{"state": "running", "round": 1} | nothing | changes)


def hostile(place: Installation, run: str, **changes: Any) -> str:
    """A finished run in which every text that somebody gave tries to break the page."""
    return finished(place, run, edit=_spoil, brief=HOSTILE, **changes)


def _spoil(book: Book) -> None:
    intervention = dict.fromkeys(("target", "what", "why", "expected", "risk"), HOSTILE)
    rationale = dict.fromkeys(("what", "why", "expected_gain", "risks"), HOSTILE)
    given = {"plan": {}, "diff": HOSTILE, "rationale": rationale, "interventions": [intervention]}
    texts: dict[sa.Table, dict[str, Any]] = {
        tables.events: {"text": HOSTILE},
        tables.steers: {"text": HOSTILE, "author": HOSTILE[:256]},
        tables.directives: {"text": HOSTILE, "author": HOSTILE[:256]},
        tables.reviews: {"reason": HOSTILE},
        tables.rounds: {"summary": HOSTILE, "plan": HOSTILE},
        tables.candidates: {"proposal": given, "reasons": [HOSTILE]},
    }
    for table, values in texts.items():
        for row in book.rows[table]:
            row.update(values)


def unreadable(place: Installation, run: str, *, caller: Caller = LOCAL, **changes: Any) -> str:
    """A run whose record cannot be read: its frozen protocol is none, and (in SQLite) its limits are broken JSON."""
    starting(place, run, caller=caller, **{"state": "running", "protocol": {"gate": {"name": "?"}}} | changes)
    with place.database.write() as tx:
        if tx.dialect.name == "sqlite":
            tx.execute(sa.text("update runs set limits = '{\"model_usd_cap\": ' where run = :run"), {"run": run})
    return run


def past_lost(place: Installation, run: str) -> None:
    """Leave of a run's past what cannot be read; everything else of it stays."""
    with place.database.write() as tx:
        tx.execute(sa.delete(tables.phases).where(tables.phases.c.run == run))
        phases.add(tx, run, 1, "open", "", {"spend": ["?"]})


def many(place: Installation, n: int, prefix: str = "run") -> list[str]:
    """So many runs, the last one the newest, in all states by turns; each with its caps and one event."""
    first = starting(place, f"{prefix}-0000")
    states = ("finished", "running", "paused", "failed", "stopped", "starting")
    with place.database.write() as tx:
        row = dict(tx.execute(sa.select(tables.runs).where(tables.runs.c.run == first)).mappings().one())
        meters = [dict(one) for one in tx.execute(sa.select(tables.caps).where(tables.caps.c.run == first)).mappings()]
        names = [f"{prefix}-{number:04d}" for number in range(n)]
        copies = []
        for number, name in enumerate(names[1:], 1):
            at = f"2026-11-29T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000000Z"
            state = {"state": states[number % len(states)], "round": number % 9, "best_version": f"v{number % 4}"}
            copies.append(row | {"run": name, "updated_at": at, "created_at": at} | state)
        if copies:
            tx.execute(sa.insert(tables.runs), copies)
            tx.execute(sa.insert(tables.caps), [one | {"run": name} for name in names[1:] for one in meters])
            event = {"seq": 1, "at": row["created_at"], "kind": "message", "text": "requested by local", "data": {}}
            tx.execute(sa.insert(tables.events), [event | {"run": name} for name in names[1:]])
    return names


def large(place: Installation, run: str, *, rounds: int = 1000, events: int = 10_000, **changes: Any) -> str:
    """A run of so many rounds and events, nearly all of them rejected, with a version every hundredth round."""
    starting(place, run)
    book = book_of(run, LOCAL)
    begin(book)
    for number in range(1, rounds + 1):
        trial = TRIALS[(1, 2, 4, 6)[number % 4]] if number % 100 else TRIALS[0]
        version = f"v{number // 100}" if not number % 100 else None
        carry(book, number, replace(trial, version=version, against=f"v{(number - 1) // 100}", job=None, micros=2300))
    last = f"v{rounds // 100}"
    while book.seq < events:
        book.event("message", f"event {book.seq + 1}: the candidate answers 41 of 60 items, the head 38", "student")
    now = {"state": "running", "round": rounds, "rounds_target": rounds, "best_version": last}
    return end(place, book, **now | {"working_head": f"r{rounds}c1", "phase": "certify"} | changes)


def _broken(
    place: Installation, run: str, caller: Caller, state: str, error: dict[str, str] | None, changes: dict[str, Any]
) -> str:
    starting(place, run, caller=caller)
    book = book_of(run, caller)
    begin(book)
    carry(book, 1, TRIALS[0])
    _steered(book)
    book.rows[tables.steers][-1]["status"] = "dropped"
    book.phase = state
    told = f"run {run} {state}: {error['code']}: {error['message']}" if error else f"run {run} stopped: the owner asked"
    book.event("error" if error else "round", told, state=state)
    best = {"state": state, "round": 2 if error else 1, "best_version": "v1", "working_head": "r1c1"}
    return end(place, book, **best | {"error": error, "ended_at": book.at} | changes)


def _candidate(book: Book, name: str, trial: Trial) -> None:
    given = proposal(trial)
    screen = {"wins": 19, "losses": 7, "pairs": 400, "estimate": 0.03, "threshold": 0.022}
    told = {"fingerprint": "f" * 64, "reasons": [], "screen": screen, "at": book.at}
    artifact = {"type": "checkpoint", "path": f"checkpoints/{name}", "sha256": "ab" * 32}
    given_more = {"proposal": given, "plan": given["plan"], "artifact": artifact}
    book.add(tables.candidates, candidate=name, round=book.round, **given_more, **told)


def _approval(book: Book, evidence: dict[str, Any]) -> ApprovalRow:
    occasion = "certification-r1c1"
    document = {"round": 1, "key": "r1c1", "baseline": "v0", "judge": {"id": "rubric", "version": "2"}}
    document |= {"sha256": "ab" * 32, "rationale": proposal(TRIALS[0])["rationale"], "evidence": evidence}
    approval_id = approvals.id_of(book.run, "certification", "r1c1", occasion)
    values = {"kind": "certification", "candidate": "r1c1", "occasion": occasion, "document": document}
    state = {"state": "pending", "reason": None, "created_at": book.at, "decided_at": None, "decided_by": None}
    book.add(tables.approvals, approval_id=approval_id, **values, **state)
    return ApprovalRow(approval_id=approval_id, run=book.run, **values, **state)


def _steered(book: Book) -> None:
    """Steers in every state but the last, which is for a run that has ended, and a directive."""
    told = {"author": "user:ada", "round": book.round, "at": book.at}
    book.add(tables.steers, text="Prefer held-out families.", status="delivered", delivered_at=book.pass_(3), **told)
    book.event("steer", "steer delivered: Prefer held-out families.", "operator", steer=1, status="delivered")
    waits = told | {"round": None, "at": book.at}
    book.add(tables.steers, text="Look at borrows first.", status="queued", delivered_at=None, **waits)
    book.event("steer", "steer queued: Look at borrows first.", None, steer=2, status="queued")
    text = "Never train on rows that a person has not allowed.\nKeep answers short."
    book.add(tables.directives, text=text, author="key:6f4de2a43d87", at=book.at)
