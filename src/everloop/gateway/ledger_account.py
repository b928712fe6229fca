"""The durable account: reservations and answers in the database, right for any number of processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from everloop.gateway.base import Answer, Call, Charge, Purpose
from everloop.ledger import calls
from everloop.store.database import Database

T = TypeVar("T")

WRITERS = 4
"""Threads that write to PostgreSQL; SQLite has one writer at a time, and waiting for it in the database is slower."""


class LedgerAccount:
    """The account of one run (or key of the gateway); each step of a call is one durable transaction."""

    def __init__(self, database: Database, account: str, worker: int | None = None) -> None:
        self._database, self._account, self._worker = database, account, worker
        self._open: dict[str, int] = {}
        self._answered: dict[str, set[str]] = {}
        self._threads = ThreadPoolExecutor(1 if database.sqlite else WRITERS, f"ledger-{account}")

    async def known(self, call: Call) -> Answer | None:
        """The journalled answer, if there was one before this account was opened."""
        occasion = call.key.partition(".")[0]
        if occasion not in self._answered:
            self._answered[occasion] = await self._written(lambda: self._answers(occasion))
        if call.identity not in self._answered[occasion]:
            return None
        return await self._written(lambda: self._known(call))

    async def begin(self, call: Call, worst: Charge) -> Answer | None:
        """The journalled answer, or None once `worst` is reserved. CapReached; StaleWorker for a fenced worker."""
        return await self._written(lambda: self._begin(call, worst))

    async def end(self, call: Call, cost: Charge, response: str | None) -> None:
        """Settle the attempt. It is written even when the caller is cancelled meanwhile."""
        if call.identity in self._open:
            await self._written(lambda: self._end(call, cost, response))

    async def _written(self, work: Callable[[], T]) -> T:
        future = asyncio.get_running_loop().run_in_executor(self._threads, lambda: self._database.retrying(work))
        return await asyncio.shield(future)

    def _answers(self, occasion: str) -> set[str]:
        with self._database.read() as tx:
            return calls.answered(tx, self._account, f"{occasion}.")

    def _known(self, call: Call) -> Answer | None:
        with self._database.read() as tx:
            row = calls.get(tx, self._account, call.identity)
        return None if row is None or row.response is None else Answer(row.response, row.spent_micros)

    def _begin(self, call: Call, worst: Charge) -> Answer | None:
        with self._database.write(durable=True, worker=self._worker) as tx:
            row = calls.begin(
                tx,
                self._account,
                call.identity,
                model=call.model,
                student=call.purpose is Purpose.STUDENT,
                micros=worst.micros,
                requests=worst.requests,
            )
        if row.response is not None:
            return Answer(row.response, row.spent_micros)
        self._open[call.identity] = worst.micros
        return None

    def _end(self, call: Call, cost: Charge, response: str | None) -> None:
        with self._database.write(durable=True, worker=self._worker) as tx:
            calls.end(
                tx,
                self._account,
                call.identity,
                reserved=self._open[call.identity],
                student=call.purpose is Purpose.STUDENT,
                micros=cost.micros,
                requests=cost.requests,
                response=response,
            )
        self._open.pop(call.identity, None)

    def close(self) -> None:
        """End the writing threads."""
        self._threads.shutdown()
