"""A real browser: Chromium without a window, driven over a pipe in its own protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

SECONDS = 60.0
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-proxy-server",
    "--remote-debugging-pipe",
)

BECOME = """
import os, sys
read, write = int(sys.argv[1]), int(sys.argv[2])
os.dup2(read, 100), os.dup2(write, 101), os.dup2(100, 3), os.dup2(101, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Becomes the browser, which reads commands from file 3 and answers on file 4."""


class Browser:
    """One page of a browser with a profile of its own; use as a context manager."""

    def __init__(self, profile: Path) -> None:
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        assert program, "these tests need Chromium"
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        arguments = [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", BECOME, str(to_read), str(to_write), *arguments],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._pending, self._id, self._session = b"", 0, ""
        self.problems: list[str] = []
        """What the browser complained of: errors, refused styles, scripts, forms."""

    def __enter__(self) -> Self:
        pages = self._call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in pages if one["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, AssertionError):
            self._call("Browser.close")
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def look(self, width: int = 1280, dark: bool = False) -> None:
        """Be a screen of that width; a narrow one is a telephone's."""
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def go(self, url: str) -> None:
        """Go to an address, and wait until the page is there."""
        self._leaving(lambda: self._call("Page.navigate", url=url))

    def forget(self) -> None:
        """Lose every cookie."""
        self._call("Network.clearBrowserCookies")

    def fill(self, name: str, text: str) -> None:
        """Write into a field of the page's form."""
        self.ask(f"document.querySelector('[name={name}]').value = {json.dumps(text)}")

    def press(self, text: str) -> None:
        """Press the button, or follow the link, of that text, and wait for the next page."""
        find = f"[...document.querySelectorAll('button, a')].find(one => one.textContent.trim() === {json.dumps(text)})"
        assert self.ask(f"!!{find}"), f"no {text!r} on the page: {self.text}"
        self._leaving(lambda: self.ask(f"setTimeout(() => {find}.click())"))

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    @property
    def text(self) -> str:
        return str(self.ask("document.body.innerText"))

    @property
    def address(self) -> str:
        return str(self.ask("location.href"))

    @property
    def overflow(self) -> int:
        """Pixels that the page is wider than the screen."""
        return int(self.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def picture(self, path: Path) -> None:
        answer = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _leaving(self, act: Any) -> None:
        self._loaded = False
        act()
        deadline = time.monotonic() + SECONDS
        while not self._loaded:
            assert time.monotonic() < deadline, "the page does not come"
            self._take(self._receive())

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._id += 1
        sent: dict[str, Any] = {"id": self._id, "method": method, "params": parameters}
        if self._session:
            sent["sessionId"] = self._session
        os.write(self._write, json.dumps(sent).encode() + b"\0")
        while True:
            found = self._receive()
            if found.get("id") == self._id:
                assert "error" not in found, found
                return dict(found["result"])
            self._take(found)

    def _take(self, event: dict[str, Any]) -> None:
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Log.entryAdded":
                self.problems.append(event["params"]["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.problems.append(str(event["params"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            read = os.read(self._read, 1 << 16)
            assert read, "the browser has ended"
            self._pending += read
        raw, _, self._pending = self._pending.partition(b"\0")
        return dict(json.loads(raw))
