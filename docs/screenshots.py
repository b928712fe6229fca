"""Take the pictures of docs/screenshots, and the chart of README, from one real run of the demo.

The demo runs to its end in a temporary home, a server serves that home meanwhile, and Chromium visits it as the owner.
Needs Chromium, Playwright and, for the Chinese page, a font with Chinese characters.

    python docs/screenshots.py [--fast] [--seed 0] [--to docs/screenshots] [--home FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palette import reduced
from playwright.sync_api import Browser, Page, sync_playwright

from everloop.client import Client
from everloop.paths import Home

EL = str(Path(sys.executable).with_name("el"))
RUN = "arith-carry-1"
MOST = 150_000
"""Most bytes of a picture."""
SECONDS = 900
"""How long the demo may take."""
LIST = "/local/local/rsi/model-loops"
PAGE = f"{LIST}/{RUN}"


@dataclass(frozen=True)
class Shot:
    """One picture."""

    name: str
    path: str
    width: int = 1280
    height: int = 800
    dark: bool = False
    language: str = "en"
    part: str = ""
    """CSS selector of the part that is shown, down to `height`; empty: the top of the page."""
    opened: str = ""
    """CSS selector of details that are opened first."""


LIVE = (
    Shot("overview", "/local/local/overview", height=700),
    Shot("runs", LIST, height=480),
    Shot("run-live", PAGE),
    Shot("jobs", "/local/local/experiment/jobs", height=560),
)
"""Taken while the run goes on."""
ENDED = (
    Shot("run", PAGE),
    Shot("run-dark", PAGE, dark=True),
    Shot("run-phone", PAGE, width=390, height=844),
    Shot("run-zh", PAGE, language="zh-CN"),
    Shot("scores", PAGE, part="#picture-scores"),
    Shot("families", PAGE, part="#picture-families"),
    Shot("rounds", PAGE, part="#rounds", opened="#rounds li:first-child > details"),
    Shot("evidence", PAGE, part="#evidence"),
)
"""Taken when it has ended."""


@contextmanager
def served(home: Path) -> Iterator[tuple[dict[str, str], str]]:
    """A server of the home; how to connect, and the address that signs its owner in."""
    ready, told = home / "ready.json", home / "told.txt"
    command = [EL, "up", "--no-worker", "--port", "0", "--ready-file", str(ready)]
    with told.open("w") as output:
        child = subprocess.Popen(command, env=_environment(home), stdout=output)
    try:
        _until(lambda: ready.exists() and "token=" in told.read_text(), 60)
        found = re.search(r"http\S+/sign-in/link\?token=\S+", told.read_text())
        assert found, "the server does not say how to sign in"
        yield json.loads(ready.read_text()), found.group()
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(30)


@contextmanager
def demo(home: Path, arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The demo under way."""
    command = [EL, "demo", "--run", RUN, *arguments]
    child = subprocess.Popen(command, env=_environment(home), stdout=subprocess.DEVNULL)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            child.wait(30)


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "EVERLOOP_HOME": str(home)}


def _until(holds: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.5)


@contextmanager
def signed_in(browser: Browser, link: str) -> Iterator[Any]:
    """What the owner's browser keeps once they have followed the link, which works once."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    if page.locator("form button").count():
        page.locator("main form button").first.click()
    page.wait_for_url(lambda url: "token=" not in url)
    yield context.storage_state()
    context.close()


def take(browser: Browser, base: str, state: Any, shot: Shot, folder: Path) -> None:
    """One picture, of the visible part of a page."""
    context = browser.new_context(
        base_url=base,
        storage_state=state,
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if shot.dark else "light",
        locale=shot.language,
        timezone_id="Etc/UTC",
        device_scale_factor=2 if shot.width < 600 else 1,
    )
    page = context.new_page()
    page.goto(shot.path)
    page.wait_for_selector("html[data-script=on]")
    png = _photo(page, shot)
    page.goto("about:blank")  # no policy of our pages forbids it to read a picture's pixels
    file = folder / f"{shot.name}.png"
    file.write_bytes(reduced(page, png))
    context.close()
    size = file.stat().st_size
    print(f"{file.name:16} {size / 1000:4.0f} kB", flush=True)
    assert size < MOST, f"{file} has {size} bytes, {MOST} are allowed"


def _photo(page: Page, shot: Shot) -> bytes:
    if not shot.part:
        return page.screenshot()
    if shot.opened:
        page.locator(shot.opened).first.evaluate("details => { details.open = true; }")
    box = page.locator(shot.part).bounding_box()
    assert box, f"{shot.path} has no {shot.part}"
    high = min(box["height"], shot.height)
    return page.screenshot(full_page=True, clip={"x": box["x"], "y": box["y"], "width": box["width"], "height": high})


def chinese() -> bool:
    """Whether there is a font for the Chinese page; without one it would be a page of boxes."""
    listed = shutil.which("fc-list")
    return bool(listed and subprocess.run([listed, ":lang=zh"], capture_output=True, check=False).stdout.strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="one round on fewer samples")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent / "screenshots")
    parser.add_argument("--home", type=Path, help=f"a home whose run {RUN} has ended, in place of a new run")
    wanted = parser.parse_args()
    wanted.to.mkdir(parents=True, exist_ok=True)
    arguments = ["--seed", str(wanted.seed), *(["--fast"] if wanted.fast else [])]
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        home = wanted.home or Path(folder)
        drawn = Home(home).run(RUN).root / "scores.svg"
        with served(home) as (ready, link), signed_in(browser, link) as state:
            if wanted.home is None:
                with demo(home, arguments) as child:
                    _begun(ready, child)
                    for shot in LIVE:
                        take(browser, ready["url"], state, shot, wanted.to)
                    assert child.wait(SECONDS) == 0, "the demo did not finish"
            shutil.copyfile(drawn, wanted.to.parent / "finished-run.svg")
            for shot in ENDED:
                if shot.language == "en" or chinese():
                    take(browser, ready["url"], state, shot, wanted.to)
                else:
                    print(f"{shot.name} was left out: no font has Chinese characters", file=sys.stderr)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "Chromium is needed"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--hide-scrollbars"])
        yield browser
        browser.close()


def _begun(ready: dict[str, str], child: subprocess.Popen[bytes]) -> None:
    """Wait until the run has a version of its own, or has ended."""
    with Client(ready["url"], api_key=ready["api_key"]) as client:

        def further() -> bool:
            if child.poll() is not None:
                return True
            found = [one for one in client.runs() if one["run"] == RUN]
            return bool(found) and found[0]["best_version"] not in (None, "v0")

        _until(further, SECONDS)


if __name__ == "__main__":
    main()
