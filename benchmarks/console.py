"""The console in a real browser: page weight, first paint, the page of a run of 1,000 rounds, memory over 200 polls.

The store holds a finished run, one that is under way, one of ROUNDS rounds and EVENTS events, and RUNS more. The server
is a real `el serve` on loopback, the browser Chromium without a window, with a fresh profile for each load. Weights are
what the server sends, compressed, heads included. For the memory the clock of the page is turned on by hand, while an
event is written before each poll: 200 polls in less than ten minutes.

    python benchmarks/console.py [--rounds 1000] [--events 10000] [--runs 1000] [--polls 200] [--loads 5]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, Request, sync_playwright

from everloop.events import Event, EventKind
from everloop.service import first_start, sessions
from everloop.service.installation import Installation, open_installation
from everloop.service.new_run import machine
from everloop.settings import Settings
from everloop.store import events

TESTS = Path(__file__).parents[1] / "tests" / "console"
HERE = "/local/local"
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


@dataclass
class Place:
    """A server, and somebody who is signed in to it."""

    url: str
    cookie: dict[str, Any]
    installation: Installation

    @contextmanager
    def visited(self, browser: Browser, **look: Any) -> Iterator[BrowserContext]:
        context = browser.new_context(base_url=self.url, viewport={"width": 1280, "height": 800}, **look)
        context.add_cookies([self.cookie])  # type: ignore[list-item]
        yield context
        context.close()

    def rendered(self, path: str) -> tuple[float, int]:
        """Milliseconds until the last byte of a page is there, and its bytes without compression."""
        request = urllib.request.Request(self.url + path)
        request.add_header("Cookie", f"{self.cookie['name']}={self.cookie['value']}")
        begun = time.perf_counter()
        with urllib.request.urlopen(request) as answer:
            body = answer.read()
        return (time.perf_counter() - begun) * 1e3, len(body)


@contextmanager
def served(home: Path, wanted: argparse.Namespace) -> Iterator[Place]:
    sys.path.insert(0, str(TESTS))
    stored = import_module("stored")  # writes runs of every kind straight into the store
    place = open_installation(Settings(home=home, max_active_runs=10**6))
    first = first_start.ensure(place)
    stored.many(place, wanted.runs)
    stored.finished(place, "finished")
    stored.running(place, "under-way")
    stored.large(place, "large", rounds=wanted.rounds, events=wanted.events)
    token, _ = sessions.sign_in_user(place, first.user_id)
    ready = home / "ready.json"
    environment = os.environ | {"EVERLOOP_HOME": str(home), "EVERLOOP_API_REQUESTS_PER_MINUTE": "1000000"}
    command = [str(Path(sys.executable).with_name("el")), "serve", "--port", "0", "--ready-file", str(ready)]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        while not ready.exists():
            assert child.poll() is None
            time.sleep(0.05)
        url = json.loads(ready.read_text())["url"]
        name = f"everloop_session_{url.rpartition(':')[2]}"
        yield Place(url, {"name": name, "value": token, "url": url, "httpOnly": True}, place)
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(30)
        place.close()


def weighed(place: Place, browser: Browser, path: str) -> tuple[int, int]:
    """Requests of a cold load and their bytes, heads included; what the page asks again later does not count."""
    with place.visited(browser) as context:
        page = context.new_page()
        asked: dict[str, Request] = {}
        page.on("requestfinished", lambda one: asked.setdefault(one.url, one))
        page.goto(path, wait_until="networkidle")
        page.wait_for_timeout(1000)
        sizes = [one.sizes() for url, one in asked.items() if "/live?" not in url]
        return len(sizes), sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes)


def painted(place: Place, browser: Browser, path: str, loads: int) -> tuple[float, float]:
    """First contentful paint and end of loading in milliseconds, medians of cold loads."""
    seen = []
    for _ in range(loads):
        with place.visited(browser) as context:
            seen.append(_opened(context.new_page(), path))
    return statistics.median(paint for paint, _ in seen), statistics.median(end for _, end in seen)


def followed(place: Place, browser: Browser, path: str, loads: int) -> float:
    """First contentful paint in milliseconds for somebody who comes from another page of the console, a median."""
    with place.visited(browser) as context:
        page = context.new_page()
        paints = []
        for _ in range(loads):
            _opened(page, f"{HERE}/approvals" if path != f"{HERE}/approvals" else f"{HERE}/keys")
            paints.append(_opened(page, path)[0])
    return statistics.median(paints)


def _opened(page: Page, path: str) -> tuple[float, float]:
    page.goto(path)
    while not page.evaluate(f"{FIRST_PAINT} !== undefined && {LOADED} > 0"):
        page.wait_for_timeout(10)  # asked from outside: the page's policy forbids a waiting script
    return page.evaluate(FIRST_PAINT), page.evaluate(LOADED)


def pages(place: Place, browser: Browser, loads: int) -> None:
    shown = {
        "sign-in": "/sign-in",
        "overview": f"{HERE}/overview",
        "run list": f"{HERE}/rsi/model-loops",
        "run, finished": f"{HERE}/rsi/model-loops/finished",
        "run, under way": f"{HERE}/rsi/model-loops/under-way",
        "run, large": f"{HERE}/rsi/model-loops/large",
        "jobs": f"{HERE}/experiment/jobs",
        "checkpoints": f"{HERE}/checkpoints",
        "approvals": f"{HERE}/approvals",
        "keys": f"{HERE}/keys",
        "members": f"{HERE}/members",
    }
    paints = "first paint, new profile, ms | first paint, from another page, ms"
    print(
        f"| page | requests | KiB sent | page alone, KiB as it is | server, ms | {paints} | loaded, new profile, ms |"
    )
    print("| --- " + "| ---: " * 7 + "|")
    for name, path in shown.items():
        place.rendered(path)
        took = [place.rendered(path) for _ in range(2 * loads)]
        count, size = weighed(place, browser, path)
        paint, loaded = painted(place, browser, path, loads)
        next_paint = followed(place, browser, path, loads)
        middle = statistics.median(one for one, _ in took)
        times = f"{middle:.0f} | {paint:.0f} | {next_paint:.0f} | {loaded:.0f}"
        figures = f"{size / 1024:.1f} | {took[-1][1] / 1024:.0f} | {times}"
        print(f"| {name} | {count} | {figures} |", flush=True)


def memory(place: Place, browser: Browser, polls: int, run: str) -> None:
    print(f"\nThe page of run `{run}` over {polls} polls, one event written before each:\n")
    print("| polls | script memory, KiB | nodes | events on the page |")
    print("| ---: | ---: | ---: | ---: |")
    with place.visited(browser) as context:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{HERE}/rsi/model-loops/{run}")
        session = context.new_cdp_session(page)
        session.send("Performance.enable")
        for poll in range(polls + 1):
            if poll % max(1, polls // 8) == 0:
                listed = page.locator("#events > li").count()
                heap, nodes = _used(session)
                print(f"| {poll} | {heap / 1024:,.0f} | {nodes:,} | {listed} |", flush=True)
            with place.installation.database.write() as tx:
                events.append(tx, run, Event(EventKind.MESSAGE, f"the candidate answers item {poll}", 1, "evaluate"))
            with page.expect_response(lambda answer: "/live?" in answer.url):
                page.clock.run_for(3100)


def _used(session: CDPSession) -> tuple[int, int]:
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return int(found["JSHeapUsedSize"]), int(found["Nodes"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--polls", type=int, default=200)
    parser.add_argument("--loads", type=int, default=5)
    wanted = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "Chromium is needed"
    print(f"{machine()}; `large`: {wanted.rounds:,} rounds, {wanted.events:,} events; {wanted.runs:,} other runs\n")
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), wanted) as place, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        pages(place, browser, wanted.loads)
        memory(place, browser, wanted.polls, "large")
        browser.close()


if __name__ == "__main__":
    main()
