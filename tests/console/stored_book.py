"""The rows of a run, collected in order under a clock of their own, and written at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Table

from everloop.events import Json
from everloop.evidence.eprocess import log_e
from everloop.evidence.futility import log_futility
from everloop.evidence.score import Change, wilson
from everloop.evidence.tally import Tally
from everloop.store import jobs as stored_jobs
from everloop.store import tables
from everloop.values import iso

BEGAN = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
THRESHOLD = 5.298317
BATCH = 40
PROJECT = {"workspace_id": "local", "project_id": "local"}


@dataclass
class Book:
    """What is written of one run."""

    run: str
    now: datetime = BEGAN
    round: int | None = None
    phase: str = "begin"
    seq: int = 1
    owner: Mapping[str, str] = field(default_factory=lambda: PROJECT)
    spent: dict[str, float] = field(default_factory=dict)
    rows: dict[Table, list[dict[str, Any]]] = field(default_factory=dict)

    def pass_(self, seconds: float) -> str:
        self.now += timedelta(seconds=seconds)
        return self.at

    @property
    def at(self) -> str:
        return str(iso(self.now))

    def add(self, table: Table, **values: Any) -> dict[str, Any]:
        self.rows.setdefault(table, []).append({"run": self.run, **values})
        return self.rows[table][-1]

    def event(self, kind: str, text: str, role: str | None = "loop", tool: str | None = None, **data: Any) -> None:
        self.seq += 1
        told = {"round": self.round, "phase": self.phase, "role": role, "tool": tool, "data": data}
        self.add(tables.events, seq=self.seq, at=self.at, kind=kind, text=text, **told)

    def done(self, phase: str, seconds: float, candidate: str = "", **result: Any) -> None:
        """A phase that ends so many seconds from now."""
        self.phase, began = phase, self.at
        timed = {"started_at": began, "at": self.pass_(seconds)}
        self.add(tables.phases, round=self.round or 0, phase=phase, candidate=candidate, result=result, **timed)

    def score(self, subject: str, on: str, rates: Mapping[str, float], each: int, missing: int = 0) -> None:
        """Scores of every family, and of all of them together."""
        known = self.rows.setdefault(tables.scores, [])
        known[:] = [row for row in known if (row["subject"], row["set"]) != (subject, on)]
        right = {name: round(rate * each) for name, rate in rates.items()}
        whole = each * len(rates) - missing
        for split, share, n, gone in (
            ("all", sum(right.values()) - missing, whole, missing),
            *((name, count, each, 0) for name, count in right.items()),
        ):
            low, high = wilson(share, n)
            figures = {"mean": share / n, "low": low, "high": high, "n": n, "missing": gone}
            self.add(tables.scores, subject=subject, set=on, split=split, **figures)

    def job(self, name: str, purpose: str, seconds: float | None, state: str = "completed", **more: Any) -> None:
        labels = {"rsi_run": self.run, "rsi_round": str(self.round or 0), "rsi_purpose": purpose, "source": "everloop"}
        begun = self.at
        text = f"job {name}-a1 started: 500 steps for {name}"
        self.event("job", text, "student", "train", job=f"{name}-a1", purpose=purpose)
        ended = self.pass_(seconds) if seconds is not None else None
        self.add(
            tables.jobs,
            job=f"{name}-a1",
            round=self.round or 0,
            purpose=purpose,
            method="sft",
            labels=labels,
            digest="d" * 64,
            launcher="local",
            state=state,
            seconds=seconds,
            reserved_micros=20_000,
            **{"job_id": stored_jobs.new_id(), **self.owner, "label_run": self.run, "stop_requested": False},
            created_at=begun,
            updated_at=ended or begun,
            finished_at=ended,
            **({"returncode": 0 if state == "completed" else 1, "reason": None, "host": "host-1"} | more),
        )
        if ended:
            self.event("job", f"job {name}-a1 {state} after {seconds:.0f} s", "student", "train", job=f"{name}-a1")

    def compared(self, candidate: str, tally: Tally, against: str, stopped: str | None = None) -> Json:
        """The looks of a certification: the evidence grows batch by batch up to `tally`; `stopped` None: it goes on."""
        for pairs in range(BATCH, tally.pairs + 1, BATCH):
            seen, last = _share(tally, pairs / tally.pairs), pairs == tally.pairs
            figures = {"wins": seen.wins, "losses": seen.losses, "log_e": log_e(seen.wins, seen.losses)}
            more = {
                "round": self.round,
                "futility": log_futility(seen, 0.04),
                "threshold": THRESHOLD,
                "against": against,
            }
            more |= {"ruling": (stopped if last else None) or "more", "at": self.pass_(20)}
            self.add(tables.looks, candidate=candidate, stage="certification", pairs=pairs, **more, **figures)
        return {"wins": tally.wins, "losses": tally.losses, "pairs": tally.pairs} | {
            "log_e": log_e(tally.wins, tally.losses),
            "threshold": THRESHOLD,
            "stopped": stopped,
        }

    def write(self, tx: Connection) -> None:
        """Write all of it; rows of one table have the same columns or take the column's null."""
        for table, rows in self.rows.items():
            names = {name for row in rows for name in row}
            tx.execute(sa.insert(table), [{name: row.get(name) for name in names} for row in rows])


def _share(tally: Tally, share: float) -> Tally:
    wins, losses = round(tally.wins * share), round(tally.losses * share)
    pairs = round(tally.pairs * share)
    return Tally(wins, losses, both_right=pairs - wins - losses)


def paired(tally: Tally) -> dict[str, float | None]:
    """Change, interval and n of a tally, as a gate tells them."""
    change = Change.of(tally)
    return {"change": change.mean, "low": change.low, "high": change.high, "n": change.n}


def rates(families: Sequence[str], *shares: float) -> dict[str, float]:
    return dict(zip(families, shares, strict=True))
