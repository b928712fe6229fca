"""Live view and run list under load: 1,000 open tabs, each polling every 3 seconds, on one server process.

The store holds RUNS runs of EVENTS events each, all active. A tab is a connection of its own that polls the live view
of one run with `since` and `If-None-Match`, as the console does; every tenth polls the run list. The server is a real
`el serve`; the load comes from another process. With `--growth` the same is measured over stores of growing size.

    python benchmarks/control_plane.py [--runs 1000] [--events 10000] [--tabs 1000] [--seconds 60] [--growth]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import uvloop

from everloop.events import Json
from everloop.service import first_start, keys, run_start
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation, open_installation
from everloop.service.new_run import machine
from everloop.service.permissions import KeyKind
from everloop.service.request import StartRequest
from everloop.settings import Settings

EVERY = 3.0
"""Seconds between two polls of a tab."""
CHUNK = 100_000
ROOT = "/v1/agent-runs/rsi/runs"


@dataclass
class Load:
    """What the tabs saw."""

    live: list[float] = field(default_factory=list)
    listed: list[float] = field(default_factory=list)
    unchanged: int = 0
    failed: int = 0
    bytes: int = 0


def store(home: Path, count: int, events: int) -> tuple[Installation, str]:
    """An installation with so many runs of so many events, and a key to read them."""
    place = open_installation(Settings(home=home, max_active_runs=10**6))
    first_start.ensure(place)
    key, _ = keys.create_key(place, keys.KeyRequest(name="load", kind=KeyKind.AUTOMATION), LOCAL)
    document = {"run": "run-0", "brief": "Improve.", "domain": "synthetic", "limits": {"model_usd_cap": 1}}
    run_start.start(place, StartRequest.from_json(document))
    with sqlite3.connect(home / "everloop.db") as raw:
        raw.execute("pragma synchronous=off")
        _copies(raw, count)
        _events(raw, count, events)
    raw.close()
    return place, key


def _copies(raw: sqlite3.Connection, count: int) -> None:
    names = [row[1] for row in raw.execute("pragma table_info(runs)")]
    row = dict(zip(names, raw.execute("select * from runs").fetchone(), strict=True))
    caps = raw.execute('select cap, "limit", reserved, spent from caps where run = ?', ("run-0",)).fetchall()
    for number in range(1, count):
        copy = row | {"run": f"run-{number}"}
        marks = ", ".join("?" for _ in names)
        raw.execute(f"insert into runs values ({marks})", [copy[name] for name in names])
        raw.executemany("insert into caps values (?, ?, ?, ?, ?)", [(f"run-{number}", *cap) for cap in caps])
    raw.execute("update runs set state = 'running', phase = 'train'")


def _events(raw: sqlite3.Connection, count: int, events: int) -> None:
    text = "the candidate answers 41 of 60 items, the head 38; the screen goes on"
    rows = (
        (f"run-{run}", seq, "2026-11-29T12:00:00.000000Z", "message", text, 1, "train", "loop", None, "{}")
        for run in range(count)
        for seq in range(2, events + 1)
    )
    raw.executemany("insert into events values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    raw.execute("update runs set last_seq = ?", (events,))


@contextmanager
def served(home: Path) -> Iterator[tuple[int, psutil.Process]]:
    """A server process of the installation; its port and the process."""
    ready = home / "ready.json"
    environment = os.environ | {"EVERLOOP_HOME": str(home), "EVERLOOP_API_REQUESTS_PER_MINUTE": "1000000"}
    command = [str(Path(sys.executable).with_name("el")), "serve", "--port", "0", "--ready-file", str(ready)]
    child = subprocess.Popen(command, env=environment)
    try:
        while not ready.exists():
            assert child.poll() is None
            time.sleep(0.05)
        yield int(json.loads(ready.read_text())["url"].rpartition(":")[2]), psutil.Process(child.pid)
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(20)


async def tab(port: int, key: str, path: str, until: float, load: Load, into: list[float]) -> None:
    """One open tab: a connection that polls one address."""
    await asyncio.sleep(random.uniform(0, EVERY))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    tag = ""
    while time.perf_counter() < until:
        begun = time.perf_counter()
        match = f"If-None-Match: {tag}\r\n" if tag else ""
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n{match}\r\n"
        writer.write(head.encode())
        status, headers, size = await answer(reader)
        into.append(time.perf_counter() - begun)
        tag = headers.get("etag", "")
        load.unchanged += status == 304
        load.failed += status not in {200, 304}
        load.bytes += size
        await asyncio.sleep(max(0.0, EVERY - (time.perf_counter() - begun)))
    writer.close()


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], int]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    size = int(headers.get("content-length", "0"))
    await reader.readexactly(size)
    return int(first.split()[1]), headers, size


async def press(port: int, key: str, count: int, events: int, tabs: int, seconds: float) -> Load:
    load, until = Load(), time.perf_counter() + seconds
    waiting = []
    for number in range(tabs):
        listing = number % 10 == 9
        path = ROOT if listing else f"{ROOT}/run-{number % count}/live?since={events}"
        waiting.append(tab(port, key, path, until, load, load.listed if listing else load.live))
    await asyncio.gather(*waiting)
    return load


def writing(home: Path, count: int) -> subprocess.Popen[bytes]:
    """Runs that go on meanwhile: ten events a second, over all of them."""
    code = (
        "import random, sys, time\n"
        "from everloop.events import Event, EventKind\n"
        "from everloop.service.installation import open_installation\n"
        "from everloop.store import events\n"
        "place = open_installation()\n"
        "while True:\n"
        "    with place.database.write() as tx:\n"
        f"        run = f'run-{{random.randrange({count})}}'\n"
        "        events.append(tx, run, Event(EventKind.MESSAGE, 'round goes on'))\n"
        "    time.sleep(0.1)\n"
    )
    return subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"EVERLOOP_HOME": str(home)})


def measure(count: int, events: int, tabs: int, seconds: float) -> Json:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        place, key = store(home, count, events)
        place.close()
        writer = writing(home, count)
        try:
            with served(home) as (port, process):
                uvloop.run(press(port, key, count, events, min(tabs, 50), 5))  # warm
                before, begun = process.cpu_times(), time.perf_counter()
                memory = [process.memory_info().rss]
                load = uvloop.run(press(port, key, count, events, tabs, seconds))
                memory.append(process.memory_info().rss)
                after, took = process.cpu_times(), time.perf_counter() - begun
        finally:
            writer.kill()
            writer.wait()
        size = (home / "everloop.db").stat().st_size
    assert load.failed == 0, f"{load.failed} answers were neither 200 nor 304"
    cpu = after.user + after.system - before.user - before.system
    return {
        "runs": count,
        "events": events,
        "store": size,
        "load": summary(load, took),
        "cpu": cpu / took,
        "rss": memory,
    }


def summary(load: Load, took: float) -> Json:
    asked = len(load.live) + len(load.listed)
    return {
        "requests": asked,
        "a_second": asked / took,
        "live": list(quantiles(load.live)),
        "list": list(quantiles(load.listed)),
        "unchanged": load.unchanged / asked,
        "kib": load.bytes / 1024 / asked,
    }


def quantiles(times: list[float]) -> tuple[float, float, float]:
    ordered = sorted(times)
    return statistics.median(ordered) * 1e3, ordered[int(len(ordered) * 0.99)] * 1e3, ordered[-1] * 1e3


def show(found: Json) -> None:
    load = found["load"]
    live, listed, rss = load["live"], load["list"], found["rss"]
    print(
        f"| {found['runs']:,} | {found['events']:,} | {found['store'] / 2**20:,.0f} MiB | {load['requests']:,} | "
        f"{load['a_second']:.0f} | {live[0]:.1f} / {live[1]:.1f} / {live[2]:.0f} | "
        f"{listed[0]:.1f} / {listed[1]:.1f} / {listed[2]:.0f} | {load['unchanged']:.0%} | {found['cpu']:.0%} | "
        f"{rss[0] / 2**20:.0f} -> {rss[1] / 2**20:.0f} MiB |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--tabs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--growth", action="store_true")
    wanted = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    print(f"{machine()}; {wanted.tabs:,} tabs, {wanted.seconds:g} s; ms are median / p99 / worst\n")
    head = "runs, events each, store, requests, a second, live (ms), list (ms), unchanged, server CPU, server RSS"
    print(f"| {head.replace(', ', ' | ')} |")
    print("| --- " * 10 + "|")
    sizes = [100, 1000, wanted.events] if wanted.growth else [wanted.events]
    for events in sizes:
        show(measure(wanted.runs, events, wanted.tabs, wanted.seconds))


if __name__ == "__main__":
    main()
