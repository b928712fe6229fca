"""A real server of an installation of its own, in a thread, and calls to it over loopback.

The fixture ``api`` of this folder's conftest gives an `Api`::

    key = api.key(KeyKind.READ_ONLY)
    answer = api.get("/v1/agent-runs/rsi/runs", key=key)
    assert answer.status == 200
    assert answer.json["items"] == []
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
import uvicorn
from conforming import conforming

from everloop import address, listening
from everloop.server import application, configured
from everloop.service import first_start, keys, people, projects, sessions
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation, open_installation
from everloop.service.keys import KeyRequest
from everloop.service.permissions import KeyKind, Permission, Role
from everloop.settings import Settings

PASSWORD = "correct horse battery"
SECONDS = 20.0


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: httpx2.Headers
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def text(self) -> str:
        return self.content.decode()

    @property
    def code(self) -> str:
        """Code of a refusal."""
        assert set(self.json) == {"code", "message"}, self.text
        return str(self.json["code"])


@dataclass(frozen=True)
class Session:
    """A signed-in person: give it as ``key=``."""

    token: str
    user_id: str


class Api:
    """A server; use as a context manager. More keyword arguments are settings; `clock`: that of the rate limits."""

    def __init__(
        self, home: Path, database_url: str = "", *, clock: Callable[[], float] = time.monotonic, **settings: Any
    ) -> None:
        wanted = Settings(home=home, database_url=database_url, **settings)
        self._listening = listening.tcp_port("127.0.0.1", 0)
        self.listener: socket.socket = self._listening.__enter__()
        opened = open_installation(address.of(wanted, self.listener))
        self.place: Installation = opened
        first_start.ensure(opened)
        self.app = application(opened, clock)
        self._server = uvicorn.Server(configured(self.app, opened.settings))
        self._thread = threading.Thread(target=self._server.run, args=([self.listener],), daemon=True)
        self.url = address.local_url(opened.settings)
        self._client = httpx2.Client(base_url=self.url, timeout=SECONDS, trust_env=False)
        self._projects: set[str] = set()
        self._keys: dict[tuple[str, ...], str] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + SECONDS
        while not self._server.started:
            assert self._thread.is_alive(), "the server ended while it was starting"
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._server.should_exit = True
        self._thread.join(SECONDS)
        self._listening.__exit__(None, None, None)
        self.place.close()
        assert not self._thread.is_alive(), "the server does not end"

    def key(
        self,
        kind: KeyKind = KeyKind.AUTOMATION,
        *permissions: Permission,
        project: str | None = None,
        fresh: bool = False,
    ) -> str:
        """A key of the project, the same for the same arguments unless a fresh one is asked for."""
        named = (str(kind), project or "", *sorted(permissions))
        if fresh or named not in self._keys:
            asked = KeyRequest(name="test", kind=kind, permissions=[str(one) for one in permissions])
            made, _ = keys.create_key(self.place, asked, LOCAL, project)
            if fresh:
                return made
            self._keys[named] = made
        return self._keys[named]

    def project(self, project_id: str) -> str:
        """A further project in the first workspace, made at the first call."""
        if project_id not in self._projects:
            projects.create_project(self.place, project_id, project_id, None, LOCAL)
            self._projects.add(project_id)
        return project_id

    def person(self, role: Role, email: str = "", project: str = "local") -> Session:
        """A new person with a role in a project, signed in."""
        address = email or f"{role}-{time.monotonic_ns()}@example.org"
        user = people.create_user(self.place, address, str(role).title(), PASSWORD, LOCAL)
        people.set_member(self.place, project, user.user_id, role, LOCAL)
        token, _ = sessions.sign_in_user(self.place, user.user_id)
        return Session(token, user.user_id)

    def join(self, session: Session, project: str, role: Role) -> None:
        """Make the person a member of another project as well."""
        people.set_member(self.place, project, session.user_id, role, LOCAL)

    def get(self, path: str, *, key: str | Session | None = None, **more: Any) -> Answer:
        return self.request("GET", path, key=key, **more)

    def post(self, path: str, *, key: str | Session | None = None, **more: Any) -> Answer:
        return self.request("POST", path, key=key, **more)

    def put(self, path: str, *, key: str | Session | None = None, **more: Any) -> Answer:
        return self.request("PUT", path, key=key, **more)

    def delete(self, path: str, *, key: str | Session | None = None, **more: Any) -> Answer:
        return self.request("DELETE", path, key=key, **more)

    def request(
        self,
        method: str,
        path: str,
        *,
        key: str | Session | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Answer:
        """A request; `more` goes to the HTTP client (``json=``, ``content=``, ``params=``).

        The answer of a route must be one that the OpenAPI document tells of.
        """
        sent = {**_identity(key, self.url), **(headers or {})}
        found = self._client.request(method, path, headers=sent, **more)
        conforming(self.app).check(method, path, found.status_code, found.headers, found.content)
        return Answer(found.status_code, found.headers, found.content)

    def raw(self, sent: bytes) -> bytes:
        """Bytes as they are; what comes back until the server closes the connection."""
        with socket.create_connection(self.listener.getsockname()[:2], SECONDS) as line:
            line.sendall(sent)
            answer = b""
            while more := line.recv(65536):
                answer += more
            return answer


def session_cookie(url: str, token: str) -> str:
    """The header of a browser that is signed in at a server of that address."""
    return f"everloop_session_{urlsplit(url).port}={token}"


def _identity(key: str | Session | None, url: str) -> dict[str, str]:
    if isinstance(key, Session):
        return {"Cookie": session_cookie(url, key.token), "Origin": url}
    return {"Authorization": f"Bearer {key}"} if key else {}
