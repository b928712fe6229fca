"""What the gateway adds to a call: latency over plain pydantic-ai on the same SDK and HTTP client settings.

The endpoint is a stub in a process of its own. Each repetition measures every way once, in turn, so that a busy minute
of the machine hits all of them; the table shows medians over the repetitions. `python benchmarks/gateway.py [REPS]`.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import uvloop
from pydantic_ai import ModelRequest
from pydantic_ai.models import Model, ModelRequestParameters

from everloop.gateway.base import Account, ModelEntry
from everloop.gateway.gateway import Gateway
from everloop.gateway.ledger_account import LedgerAccount
from everloop.gateway.memory_account import MemoryAccount
from everloop.gateway.provider import NO_KEY, build
from everloop.gateway.transport import open_client
from everloop.ledger.caps import open_caps
from everloop.service.new_run import machine
from everloop.store.database import Database

CASES = ((1, 0, 400), (64, 0, 1280), (64, 500, 640))
"""(clients at once, milliseconds the endpoint takes, calls). The second keeps a core busy all the time."""
PARAMETERS = ModelRequestParameters()
MESSAGES = [ModelRequest.user_text_prompt("hi " * 200)]
BODY = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ANSWER: A"}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
    }
).encode()
Ask = Callable[[], Awaitable[object]]


class Stub(asyncio.Protocol):
    """Answers every request with the same completion."""

    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(BODY)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.data = transport, b""

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, found, rest = self.data.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(rest) >= length:
            self.data = rest[length:]
            loop = asyncio.get_running_loop()
            loop.call_later(0.5 if b"/slow/" in head else 0, self.transport.write, self.head + BODY)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass(frozen=True)
class Timing:
    """One repetition: milliseconds a call."""

    median: float
    p99: float
    cpu: float


async def timed(ask: Ask, calls: int, clients: int) -> Timing:
    left = iter(range(calls))
    took: list[float] = []

    async def client() -> None:
        for _ in left:
            start = time.perf_counter()
            await ask()
            took.append((time.perf_counter() - start) * 1000)

    start = time.process_time()
    await asyncio.gather(*(client() for _ in range(clients)))
    cpu = (time.process_time() - start) * 1000 / calls
    took.sort()
    return Timing(took[len(took) // 2], took[int(len(took) * 0.99)], cpu)


def asking(model: Model) -> Ask:
    async def ask() -> object:
        return await model.request(MESSAGES, {"max_tokens": 64}, PARAMETERS)

    return ask


async def measure(url: str, accounts: dict[str, Account], reps: int) -> None:
    for clients, delay, calls in CASES:
        entry = ModelEntry(
            name="stub",
            provider="openai",
            model="stub",
            base_url=f"{url}/slow/v1" if delay else f"{url}/v1",
            concurrency=clients,
            input_usd_per_mtok=0.1,
            output_usd_per_mtok=0.1,
        )
        client = open_client(entry.base_url, 120.0, clients + 8)
        gateway = Gateway({"stub": entry}.__getitem__, lambda _: None)
        ways: dict[str, Ask] = {"plain pydantic-ai": asking(build(entry, NO_KEY, client))}
        for name, account in accounts.items():
            ways[f"gateway, {name}"] = asking(gateway.model("stub", account, f"bench{clients}-{delay}"))
        for ask in ways.values():
            await timed(ask, calls // 4, clients)
        found: dict[str, list[Timing]] = {name: [] for name in ways}
        for _ in range(reps):
            for name, ask in ways.items():
                found[name].append(await timed(ask, calls, clients))
        report(f"{clients:>7}{delay:>9}", calls, reps, found)
        await gateway.aclose()
        await client.aclose()


def report(case: str, calls: int, reps: int, found: dict[str, list[Timing]]) -> None:
    plain = found["plain pydantic-ai"]
    for name, took in found.items():
        extra = statistics.median(mine.median - theirs.median for mine, theirs in zip(took, plain, strict=True))
        cpu = statistics.median(mine.cpu - theirs.cpu for mine, theirs in zip(took, plain, strict=True))
        median, p99 = statistics.median(one.median for one in took), statistics.median(one.p99 for one in took)
        print(f"{case} {name:<24}{median:>10.2f}{p99:>9.2f}{extra:>10.2f}{cpu:>14.3f}   ({reps} x {calls} calls)")


def ledger(folder: str) -> LedgerAccount:
    """A durable account on SQLite, without bounds."""
    database = Database(f"sqlite:///{Path(folder) / 'bench.db'}")
    database.migrate()
    with database.write() as tx:
        open_caps(tx, "bench", {})
    return LedgerAccount(database, "bench")


def main(reps: int) -> None:
    stub = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True)
    assert stub.stdout is not None
    try:
        url = f"http://127.0.0.1:{int(stub.stdout.readline())}"
        with tempfile.TemporaryDirectory() as folder:
            accounts: dict[str, Account] = {
                "MemoryAccount": MemoryAccount(),
                "LedgerAccount (SQLite)": ledger(folder),
            }
            print(machine())
            head = f"{'clients':>7}{'delay ms':>9} {'way':<24}"
            print(f"{head}{'median ms':>10}{'p99 ms':>9}{'added ms':>10}{'added CPU ms':>14}")
            uvloop.run(measure(url, accounts, reps))
    finally:
        stub.terminate()
        stub.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        uvloop.run(serve())
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
