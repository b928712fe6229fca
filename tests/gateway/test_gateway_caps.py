"""A cap holds for any number of processes: never passed by what is spent and held, and the server agrees at the end."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import sqlalchemy as sa
from scripted import Reply, Request, ScriptedServer

from everloop.gateway.base import ModelEntry
from everloop.ledger import caps
from everloop.ledger.reservations import spend
from everloop.service import models
from everloop.service.installation import open_installation
from everloop.settings import Settings
from everloop.store.database import Database

PROCESSES, CALLERS = 4, 50
CAP_USD = 0.001
CALLER = """
import asyncio, sys
from pathlib import Path
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from everloop.errors import CapReached
from everloop.gateway.ledger_account import LedgerAccount
from everloop.service import models
from everloop.service.installation import open_installation
from everloop.settings import Settings

home, url, who, callers = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
place = open_installation(Settings(home=home, database_url=url))
gateway, account = models.open_gateway(place), LedgerAccount(place.database, "shared")

async def call(number):
    model = gateway.model("scripted", account, f"{who}.{number}")
    try:
        await model.request([ModelRequest(parts=[UserPromptPart("hi")])], {"max_tokens": 10}, ModelRequestParameters())
    except CapReached:
        return 0
    return 1

async def every():
    return sum(await asyncio.gather(*(call(number) for number in range(callers))))

print(gateway.run(every))
gateway.close()
account.close()
place.close()
"""


def answer(request: Request) -> Reply:
    # dearer answers every other time, within what was reserved: ten output tokens at most
    return Reply(input_tokens=20 + request.number % 7, output_tokens=4 + request.number % 7, delay=0.01)


class Watcher(threading.Thread):
    """Looks at the meters again and again, and keeps the most that was ever spent and held."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.database, self.most, self.looks, self.over = database, 0, 0, threading.Event()

    def run(self) -> None:
        query = sa.select(caps.caps.c.reserved + caps.caps.c.spent).where(caps.caps.c.cap == "model_usd_cap")
        while not self.over.is_set():
            with self.database.read() as tx:
                self.most = max(self.most, tx.execute(query).scalar_one())
            self.looks += 1
            time.sleep(0.002)


def test_two_hundred_callers_in_four_processes_stay_under_a_tenth_of_a_cent(tmp_path: Path, database_url: str) -> None:
    place = open_installation(Settings(home=tmp_path / "home", database_url=database_url))
    with ScriptedServer(answer) as server:
        entry = ModelEntry(
            name="scripted",
            provider="openai",
            model="scripted",
            base_url=server.url,
            input_usd_per_mtok=0.15,
            output_usd_per_mtok=0.6,
            concurrency=CALLERS,
        )
        models.add(place, entry, None)
        with place.database.write() as tx:
            caps.open_caps(tx, "shared", {"model_usd_cap": CAP_USD})
        watcher = Watcher(place.database)
        watcher.start()
        command = [sys.executable, "-c", CALLER, str(tmp_path / "home"), database_url]
        running = [
            subprocess.Popen([*command, str(number), str(CALLERS)], stdout=subprocess.PIPE)
            for number in range(PROCESSES)
        ]
        answered = sum(int(process.communicate(timeout=120)[0]) for process in running)
        watcher.over.set()
        watcher.join()
        seen = len(server.requests)
    with place.database.read() as tx:
        left, spent = tx.execute(sa.select(caps.caps.c.reserved, caps.caps.c.spent)).first(), spend(tx, "shared")
    assert [process.returncode for process in running] == [0] * PROCESSES
    assert 0 < answered < PROCESSES * CALLERS, "some were refused before they were sent"
    assert seen == answered == spent.model_requests == server.tokens.answered
    assert spent.model.micros == billed(seen)
    assert watcher.looks > 10
    assert spent.model.micros <= watcher.most <= CAP_USD * 1_000_000
    assert left is not None and left.reserved == 0
    place.close()


def billed(requests: int) -> int:
    """The server's own count: each answer's price, rounded up to a micro-dollar as the ledger does."""
    total = 0
    for number in range(1, requests + 1):
        cents = (20 + number % 7) * 15 + (4 + number % 7) * 60
        total += -(-cents // 100)
    return total
