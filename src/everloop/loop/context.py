"""What a workflow works with: the worker's means and one run's frozen choices."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from everloop.domains.base import Domain
from everloop.domains.registry import domain
from everloop.domains.stream import Stream
from everloop.events import Json
from everloop.evidence.gates.base import Gate
from everloop.evidence.gates.registry import gate_from_json
from everloop.evidence.protocol import EvaluationProtocol
from everloop.gateway.base import Account
from everloop.gateway.ledger_account import LedgerAccount
from everloop.gateway.opening import Opening
from everloop.guard.limits import Goal, Limits, Stop
from everloop.loop.journal import Journal, Observer, unobserved
from everloop.loop.lines import Lines
from everloop.operators.auditors import panel
from everloop.operators.base import Auditor, Operator, Tried
from everloop.operators.registry import operator
from everloop.paths import Home, RunPaths
from everloop.remote.launchers.base import Launcher
from everloop.remote.launchers.registry import launcher
from everloop.settings import Settings
from everloop.store.database import Database
from everloop.store.runs import RunRow
from everloop.students.base import Trainer
from everloop.students.measuring import Students

if TYPE_CHECKING:
    from everloop.gateway.gateway import Gateway


@dataclass(frozen=True)
class Means:
    """What a worker brings to every run."""

    settings: Settings
    """The installation's settings."""
    database: Database
    """The store."""
    worker: int
    """This worker's epoch."""
    students: Students
    """Samplers, shared by the worker's runs."""
    opening: Opening
    """Opens the gateway when a run needs it."""
    observer: Observer = unobserved
    """Sees the boundaries of phases."""

    @property
    def gateway(self) -> Gateway:
        """The only way to a model."""
        return self.opening.gateway()

    @cached_property
    def home(self) -> Home:
        """The installation's folder."""
        return Home(self.settings.home)


@dataclass(frozen=True)
class Context:
    """One run as a worker sees it; everything here is frozen at the start of the run."""

    means: Means
    """The worker's means."""
    row: RunRow
    """The run's row as read when the workflow began; of it, the frozen columns and the generation are used."""

    remembered: dict[int, list[Tried]] = field(default_factory=dict)
    """Refused candidates read in this round; see `everloop.loop.memory`."""

    @cached_property
    def run(self) -> str:
        """Run id."""
        return self.row.run

    @cached_property
    def paths(self) -> RunPaths:
        """The run's folder."""
        return self.means.home.run(self.row.run)

    @cached_property
    def journal(self) -> Journal:
        """The run's journal."""
        # an inline student answers faster than a reader looks
        announces = self.dry or not self.trainer.capabilities().inline
        return Journal(self.means.database, self.means.worker, self.row.run, self.means.observer, announces)

    @property
    def dry(self) -> bool:
        """Whether the student is a model behind the gateway and nothing is trained."""
        return self.row.mode == "dry"

    @cached_property
    def account(self) -> Account:
        """Who pays for the run's calls to models, and what they were answered."""
        return LedgerAccount(self.means.database, self.row.run, self.means.worker)

    @cached_property
    def limits(self) -> Limits:
        """Limits in force."""
        return Limits.from_json(self.row.limits)

    @cached_property
    def goal(self) -> Goal | None:
        """The local goal, if any."""
        return Goal.from_json(self.row.goal) if self.row.goal else None

    @cached_property
    def stop(self) -> Stop:
        """When to stop early."""
        return Stop.from_json(self.row.stop)

    @cached_property
    def options(self) -> Json:
        """Names of plug-ins and free parameters of the start."""
        return self.row.options

    @cached_property
    def domain(self) -> Domain:
        """The domain."""
        return domain(self.row.domain)

    @cached_property
    def protocol(self) -> EvaluationProtocol:
        """The frozen evaluation plan."""
        return EvaluationProtocol.from_json(self.row.protocol)

    @cached_property
    def stream(self) -> Stream:
        """The domain's items in this run's order."""
        return Stream(self.domain, self.row.seed)

    @cached_property
    def trainer(self) -> Trainer:
        """The trainer."""
        return self.means.students.trainer(str(self.options["trainer"]))

    @cached_property
    def operator(self) -> Operator:
        """The operator."""
        return operator(str(self.options["operator"]))

    @cached_property
    def auditors(self) -> tuple[Auditor, ...]:
        """The panel."""
        return panel(cast(list[str], self.options["auditors"]))

    @cached_property
    def launcher(self) -> Launcher:
        """Where jobs run."""
        return launcher(str(self.options.get("launcher", "local")))

    @cached_property
    def gate(self) -> Gate:
        """The decision policy."""
        return gate_from_json(cast(Json, self.row.protocol["gate"]))

    def checkpoint(self, relative: str) -> Path:
        """Absolute path of a checkpoint named in `Lines`."""
        return self.paths.root / relative

    def seed(self, *parts: object) -> int:
        """A seed for one purpose, derived from the run's; 31 bits."""
        text = "/".join(str(part) for part in (self.row.seed, *parts))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def lines_of(row: RunRow) -> Lines:
    """The lines of a run; they exist once v0 does."""
    return Lines.from_json(cast(Json, row.lines))
