"""The cage of DBOS: the only module that knows it.

A run is the workflow ``RUN.gG`` (G counts resumes and extends); a round is its child ``RUN.gG.rN``. What a run *is* is
read from our own store only; DBOS decides nothing but which worker carries a workflow on after a crash. The phases
inside a round are no steps of DBOS: `everloop.loop.journal` keeps each result in the transaction of everything that
follows from it, and a second journal would only repeat it, at two transactions a phase. Its three holes
are closed here and in `everloop.store`: its transactions begin IMMEDIATE on SQLite (the engine is ours), every worker
incarnation has its own executor id (the worker's epoch), and work of dead workers is re-enqueued by `recover`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from dbos import DBOS, DBOSConfig, SetWorkflowID
from dbos._error import DBOSException

from everloop.store.database import Database

QUEUE = "everloop-runs"
VERSION = "1"
"""Pinned: DBOS would otherwise derive it from the source text and strand running work at every release."""

DurableError = DBOSException
"""What the engine itself may raise inside a workflow."""


class Workflows(Protocol):
    """What the engine carries out durably."""

    def run(self, run: str, generation: int) -> None:
        """Carry a run from its first unfinished round to its end or pause."""

    def round(self, run: str, generation: int, number: int) -> str:
        """Carry out one round and return its decision."""


_workflows: Workflows | None = None


def _bound() -> Workflows:
    if _workflows is None:
        raise RuntimeError("no workflows are bound: launch() comes first")
    return _workflows


@DBOS.workflow(name="everloop.run", max_recovery_attempts=None)
def _run(run: str, generation: int) -> None:
    _bound().run(run, generation)


@DBOS.workflow(name="everloop.round", max_recovery_attempts=None)
def _round(run: str, generation: int, number: int) -> str:
    return _bound().round(run, generation, number)


def workflow_id(run: str, generation: int) -> str:
    """Id of the workflow of one generation of a run."""
    return f"{run}.g{generation}"


def launch(database: Database, worker: int, workflows: Workflows) -> None:
    """Start the engine in this process under the worker's epoch as executor id."""
    global _workflows  # DBOS registers module-level functions, so what they call is module state
    _workflows = workflows
    config = DBOSConfig(
        name="everloop",
        system_database_url=database.url,
        system_database_engine=database.engine,
        application_version=VERSION,
        executor_id=str(worker),
        log_level="CRITICAL",
        use_listen_notify=False,
        notification_listener_polling_interval_sec=0.5,
        max_executor_threads=64,
    )
    DBOS(config=config)
    DBOS.launch()
    DBOS.register_queue(QUEUE, polling_interval_sec=0.1)


def shutdown() -> None:
    """Stop the engine; running workflows stay pending and are carried on by another worker."""
    DBOS.destroy(workflow_completion_timeout_sec=0)


def dispatch(run: str, generation: int) -> None:
    """Enqueue a generation of a run; nothing happens when it is already there."""
    with SetWorkflowID(workflow_id(run, generation)):
        DBOS.enqueue_workflow(QUEUE, _run, run, generation)


def broken(run: str, generation: int) -> bool:
    """Whether the engine gave the workflow up (the engine's own failure, not the run's)."""
    status = DBOS.get_workflow_status(workflow_id(run, generation))
    return status is not None and status.status in {"ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"}


def round_of(run: str, generation: int, number: int) -> str:
    """Carry out a round as a child workflow of the calling run workflow."""
    with SetWorkflowID(f"{workflow_id(run, generation)}.r{number}"):
        return _round(run, generation, number)


def recover(fenced: Callable[[Collection[int]], Collection[int]]) -> int:
    """Re-enqueue the pending workflows of fenced workers; returns how many executors were recovered.

    The workflows are listed first and their owners looked up after: fencing is for good, so nobody alive is robbed.
    The call is private in DBOS 3.4 (hence the pin ``dbos==3.4.*``); it compares and sets, so that any number of peers
    may do it at once.
    """
    pending = DBOS.list_workflows(status="PENDING", load_input=False, load_output=False)
    owners = {int(workflow.executor_id) for workflow in pending if workflow.executor_id}
    dead = sorted(map(str, fenced(owners))) if owners else []
    if dead:
        DBOS._recover_pending_workflows(dead)
    return len(dead)
