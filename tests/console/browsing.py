"""A real browser: Chromium without a window, by Playwright. One browser a process, a fresh profile for each visitor."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, Response, sync_playwright
from visiting import Site

from everloop.service import sessions
from everloop.service.permissions import Role

SECONDS = 30.0
"""How long anything may take to appear."""
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
)
LOOKS = [(360, False), (360, True), (1280, False), (1920, True)]
"""Widths of a telephone, a desk and a wall, by day and by night."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of a test process. Between tests nothing shows that an event loop waits behind it."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "these tests need Chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(OPTIONS))
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser
        asyncio._set_running_loop(loop)
        browser.close()


@contextmanager
def using(browser: Browser) -> Iterator[Browser]:
    """The browser, for the time of one test: Playwright marks this thread as one that runs an event loop."""
    asyncio._set_running_loop(browser._loop)
    try:
        yield browser
    finally:
        asyncio._set_running_loop(None)


class Visitor:
    """Somebody with a browser of their own, whose console has to stay empty.

    `look`: options of a Playwright context, such as ``locale`` and ``timezone_id``. Words of problems that a test
    provokes go into `expected`; any other fails the test at its end.
    """

    def __init__(self, browser: Browser, site: Site, *, width: int = 1280, dark: bool = False, **look: Any) -> None:
        scheme: Any = "dark" if dark else "light"
        size: Any = {"width": width, "height": 800}
        self.site = site
        self.context = browser.new_context(
            **({"viewport": size, "color_scheme": scheme, "locale": "en-GB", "base_url": site.url} | look)
        )
        self.context.set_default_timeout(SECONDS * 1000)
        self.page: Page = self.context.new_page()
        self.problems: list[str] = []
        """What the browser complained of: errors, warnings, refused styles and scripts, failed requests."""
        self.expected: list[str] = []
        """Patterns of complaints that the test provokes."""
        self.requests: list[str] = []
        """``METHOD /path?query`` of every request so far."""
        self.waiting = 0
        """Requests that have no answer yet."""
        self.statuses: list[tuple[str, int]] = []
        """``/path?query`` and status of every answer so far."""
        self._watch(self.page)

    def enter(self, *roles: tuple[str, Role]) -> str:
        """Be a new person with these roles, a Developer of ``local`` without any, who has signed in; the user id."""
        _, user_id = self.site.person(*roles, password=None)
        token, _ = sessions.sign_in_user(self.site.place, user_id)
        self.context.add_cookies([{"name": self.site.cookie, "value": token, "url": self.site.url, "httpOnly": True}])
        return user_id

    def go(self, path: str) -> Page:
        """Go to a path or an address; the page once it is loaded."""
        self.page.goto(path)
        return self.page

    def press(self, text: str) -> None:
        """Press the button, or follow the link, of that name, which leads to another page."""
        button, link = self.page.get_by_role("button", name=text, exact=True), self.page.get_by_role("link", name=text)
        with self.page.expect_navigation():
            button.or_(link).first.click()

    def at(self, selector: str) -> Locator:
        """What a CSS selector finds."""
        return self.page.locator(selector)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        return self.page.evaluate(expression)

    def until(self, expression: str, seconds: float = SECONDS) -> None:
        """Wait until a JavaScript expression holds; it is asked from outside, which no policy of the page forbids."""
        deadline = time.monotonic() + seconds
        while not self.ask(expression):
            assert time.monotonic() < deadline, f"never: {expression}"
            self.pause(0.02)

    def pause(self, seconds: float) -> None:
        """Let time pass while the browser goes on working."""
        self.page.wait_for_timeout(seconds * 1000)

    def hide(self, hidden: bool = True) -> None:
        """Be behind another tab, or come to the front again."""
        state = "hidden" if hidden else "visible"
        self.ask(
            f"""() => {{
                Object.defineProperty(document, 'visibilityState', {{get: () => '{state}', configurable: true}});
                Object.defineProperty(document, 'hidden', {{get: () => {json.dumps(hidden)}, configurable: true}});
                document.dispatchEvent(new Event('visibilitychange'));
            }}"""
        )

    def look(self, width: int = 1280, dark: bool = False) -> None:
        """Be a screen of that width, by day or by night."""
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.emulate_media(color_scheme="dark" if dark else "light")

    @property
    def text(self) -> str:
        """The page's words as they are shown."""
        return " ".join(self.page.locator("body").inner_text().split())

    @property
    def overflow(self) -> int:
        """Pixels that the page is wider than the screen."""
        return int(self.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def axe(self) -> list[str]:
        """What axe-core finds wrong on the page: rule, what it is about, first places."""
        found = Axe().run(self.page).response["violations"]
        return [f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in found]

    def looks_right(self, looks: list[tuple[int, bool]] = LOOKS) -> None:
        """Fits every screen without scrolling sideways, and axe finds nothing, by day and by night."""
        for width, dark in looks:
            self.look(width, dark)
            assert self.overflow == 0, (self.page.url, width)
        for width, dark in (looks[0], looks[-1]):
            self.look(width, dark)
            assert self.axe() == [], (self.page.url, width, dark)

    def leave(self) -> list[str]:
        """Close the browser's profile; the problems that nobody provoked."""
        self.context.close()
        return [one for one in self.problems if not any(re.search(pattern, one) for pattern in self.expected)]

    def _watch(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", self._asked)
        page.on("requestfinished", self._done)
        page.on("requestfailed", self._done)
        page.on("response", self._answered)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning", "assert"}:
            where = message.location.get("url", "") if message.location else ""
            self.problems.append(f"{message.type}: {message.text} {where}".strip())

    def _done(self, _: Request) -> None:
        self.waiting -= 1

    def _asked(self, request: Request) -> None:
        self.waiting += 1
        self.requests.append(f"{request.method} {request.url.removeprefix(self.site.url)}")

    def _answered(self, response: Response) -> None:
        self.statuses.append((response.url.removeprefix(self.site.url), response.status))
