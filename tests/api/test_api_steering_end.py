"""Steers while a real worker ends a run: each one is delivered, dropped or refused, and none is left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa
from calling import Api
from carrying import RUNS, drain, start
from mcp_calling import tool

from everloop.store import tables

NAMES = ("ends-1", "ends-2")
PAUSE = 0.03
"""Seconds between two steers of one sender."""


@dataclass
class Sender:
    """Steers one run until it takes no more."""

    api: Api
    run: str
    surface: str
    taken: list[int] = field(default_factory=list)
    """Ids of the steers that were accepted."""
    refusals: list[tuple[int, str]] = field(default_factory=list)
    """Status and code of each refusal, at most three."""
    over: threading.Event = field(default_factory=threading.Event)

    def send(self) -> None:
        while len(self.refusals) < 3 and not self.over.wait(PAUSE):
            text = f"steer {len(self.taken)} by {self.surface}"
            status, told = self._mcp(text) if self.surface == "mcp" else self._rest(text)
            if status == 202:
                self.taken.append(told["id"])
            else:
                self.refusals.append((status, told["code"]))

    def _rest(self, text: str) -> tuple[int, Any]:
        answer = self.api.post(f"{RUNS}/{self.run}/steer", key=self.api.key(), json={"text": text})
        return answer.status, answer.json

    def _mcp(self, text: str) -> tuple[int, Any]:
        told = tool(self.api, "rsi_steer", {"run": self.run, "text": text}, key=self.api.key())
        return (202 if told.code is None else 409), told.document


@pytest.fixture(scope="module")
def senders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Sender]]:
    with Api(tmp_path_factory.mktemp("steering"), api_requests_per_minute=1_000_000) as api:
        for name in NAMES:
            body = start(name, rounds=1, options={"trainer": "synthetic-job"})
            assert api.post(RUNS, key=api.key(), json=body).status == 201
        sending = [Sender(api, name, surface) for name in NAMES for surface in ("rest", "mcp")]
        threads = [threading.Thread(target=one.send) for one in sending]
        for thread in threads:
            thread.start()
        try:
            drain(api.place)
            for thread in threads:
                thread.join(20)
        finally:
            for one, thread in zip(sending, threads, strict=True):
                one.over.set()
                thread.join(20)
        yield sending


def stored(api: Api) -> dict[int, tuple[str, str, str | None]]:
    """Id of a steer -> its run, how it stands, when it was delivered."""
    with api.place.database.read() as tx:
        return {row.id: (row.run, row.status, row.delivered_at) for row in tx.execute(sa.select(tables.steers))}


def test_every_accepted_steer_was_delivered_or_dropped(senders: list[Sender]) -> None:
    kept = stored(senders[0].api)
    taken = {number: one.run for one in senders for number in one.taken}
    assert len(taken) > 8
    assert {number: run for number, (run, _, _) in kept.items()} == taken
    assert {status for _, status, _ in kept.values()} <= {"delivered", "dropped"}
    assert all((at is not None) == (status == "delivered") for _, status, at in kept.values())


def test_some_were_delivered_while_it_ran(senders: list[Sender]) -> None:
    assert "delivered" in {status for _, status, _ in stored(senders[0].api).values()}


def test_after_the_end_each_sender_was_refused_and_nothing_else_happened(senders: list[Sender]) -> None:
    for one in senders:
        assert one.refusals == [(409, "RSI_RUN_NOT_ACTIVE")] * 3


def test_the_live_view_tells_of_the_last_steers_what_the_store_does(senders: list[Sender]) -> None:
    api = senders[0].api
    kept = stored(api)
    for name in NAMES:
        told = api.get(f"{RUNS}/{name}/live", key=api.key()).json
        assert told["state"] == "finished"
        shown = {one["id"]: one["status"] for one in told["steers"]}
        assert shown == {number: kept[number][1] for number in shown}
        newest = max(number for number, (run, _, _) in kept.items() if run == name)
        assert newest in shown


def test_every_accepted_steer_and_no_other_has_its_event(senders: list[Sender]) -> None:
    api = senders[0].api
    with api.place.database.read() as tx:
        table = tables.events
        found = tx.execute(sa.select(table.c.run, table.c.data).where(table.c.kind == "steer")).all()
    queued = [data["steer"] for _, data in found if data.get("status") == "queued"]
    assert sorted(queued) == sorted(number for one in senders for number in one.taken)
