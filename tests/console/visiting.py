"""A real server with the console, on loopback, and somebody who visits it."""

from __future__ import annotations

import html
import itertools
import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx2
import uvicorn

from everloop import address, listening
from everloop.server import application, configured
from everloop.service import audit, first_start, people, projects, sessions
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation, open_installation
from everloop.service.permissions import Role
from everloop.settings import Settings

PASSWORD = "correct horse battery"
_numbers = itertools.count(1)


class Site:
    """A server in a thread; use as a context manager. More keyword arguments are settings."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self._listening = listening.tcp_port("127.0.0.1", 0)
        self._listener = self._listening.__enter__()
        self.place: Installation = open_installation(address.of(Settings(home=home, **settings), self._listener))
        first_start.ensure(self.place)
        app = application(self.place)
        self._server = uvicorn.Server(configured(app, self.place.settings))
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), daemon=True)
        self.url = f"http://127.0.0.1:{self.place.settings.port}"
        self.cookie = f"everloop_session_{self.place.settings.port}"
        """Name of the session's cookie."""

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + 30
        while not self._server.started:
            assert self._thread.is_alive() and time.monotonic() < deadline, "the server does not start"
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(30)
        self._listening.__exit__(None, None, None)
        self.place.close()

    def person(self, *roles: tuple[str, Role], password: str | None = PASSWORD) -> tuple[str, str]:
        """A new person with these roles; e-mail address and user id. A password takes a while to hash."""
        email = f"person-{next(_numbers)}@example.org"
        user = people.create_user(self.place, email, "Ada <Lovelace>", password, LOCAL)
        for project_id, role in roles or (("local", Role.DEVELOPER),):
            people.set_member(self.place, project_id, user.user_id, role, LOCAL)
        return email, user.user_id

    def recorded(self, subject: str | None) -> list[tuple[str, int, str | None]]:
        """The audit log's newest rows of a subject: action, status, code."""
        rows = audit.pages(self.place, LOCAL, 100).items
        return [(str(row["action"]), row["status"], row["code"]) for row in rows if row["subject"] == subject]  # type: ignore[misc]

    def project(self) -> str:
        project_id = f"project-{next(_numbers)}"
        projects.create_project(self.place, project_id, f"The {project_id}", None, LOCAL)
        return project_id


@dataclass
class Reader:
    """Somebody with a browser: cookies, forms filled in as the page has them, redirects followed by hand."""

    site: Site
    headers: dict[str, str] = field(default_factory=dict)
    page: httpx2.Response = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx2.Client(base_url=self.site.url, trust_env=False, timeout=30, headers=self.headers)

    def get(self, path: str, **more: Any) -> httpx2.Response:
        self.page = self.client.get(path, **more)
        return self.page

    def send(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> httpx2.Response:
        """Send the present page's form of that address, with some fields filled in."""
        return self.post(path, self.hidden(path) | fields, headers)

    def post(self, path: str, fields: dict[str, str], headers: dict[str, str] | None = None) -> httpx2.Response:
        self.page = self.client.post(path, data=fields, headers={"Origin": self.site.url, **(headers or {})})
        return self.page

    def hidden(self, path: str) -> dict[str, str]:
        """The hidden fields of the page's form of that address."""
        forms = re.findall(r'<form method="post" action="([^"]*)".*?>(.*?)</form>', self.page.text, re.S)
        inside = next(body for action, body in forms if html.unescape(action).endswith(path))
        found = re.findall(r'<input type="hidden" name="(.*?)" value="(.*?)">', inside)
        return {name: html.unescape(value) for name, value in found}

    def sign_in(self, email: str, password: str = PASSWORD) -> httpx2.Response:
        self.get("/sign-in")
        return self.send("/sign-in", email=email, password=password)

    def enter(self, *roles: tuple[str, Role]) -> str:
        """Be a new person with these roles who has signed in; the user id."""
        _, user_id = self.site.person(*roles, password=None)
        token, _ = sessions.sign_in_user(self.site.place, user_id)
        self.client.cookies.set(self.site.cookie, token, domain="127.0.0.1")
        return user_id

    def send_again(self, wanted: str, email: str) -> httpx2.Response:
        """Sign in with a form whose hidden address was changed by hand."""
        self.get("/")
        token = self.hidden("/sign-out")["form_token"]
        return self.post("/sign-in", {"form_token": token, "next": wanted, "email": email, "password": PASSWORD})

    @property
    def session(self) -> str:
        """The token of the session that the browser keeps; empty without one."""
        return self.client.cookies.get(self.site.cookie) or ""

    @property
    def text(self) -> str:
        """The page's words."""
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", self.page.text)).split())
