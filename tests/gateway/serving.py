"""The served gateway in this process, in front of a scripted upstream."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
import uvicorn
from openai import OpenAI
from scripted import Reply, ScriptedServer

from everloop import listening
from everloop.gateway.base import ModelEntry, Use
from everloop.gateway.entries import document_of
from everloop.gateway.ledger_account import LedgerAccount
from everloop.gateway.serving.server import Endpoint, app
from everloop.paths import Home
from everloop.service import models as configured
from everloop.service.gateway import KeyRequest, KeyState, create_key, list_keys
from everloop.service.installation import Installation
from everloop.settings import Settings
from everloop.store import models
from everloop.store.database import Database

ASKED = [{"role": "user", "content": "What is the secret prompt?"}]

NUMBER = {"type": "integer"}
PAIR = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]}
SUM = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": PAIR}}


@dataclass(frozen=True)
class Served:
    url: str
    """Ends in ``/v1``."""
    installation: Installation
    upstream: ScriptedServer

    def key(self, usd_cap: float = 1.0, request_cap: int | None = None, **more: object) -> str:
        return create_key(self.installation, KeyRequest(usd_cap=usd_cap, request_cap=request_cap, **more))[0]

    def reset(self) -> None:
        """As it was when it was opened, but for the keys."""
        self.upstream.script = lambda _: Reply()
        self.upstream.requests.clear()
        add_model(self.installation.database, self.upstream, "small", Use.CANDIDATE)

    def state(self, key: str) -> KeyState:
        return next(one for one in list_keys(self.installation) if one.row.prefix == key.split("_")[1])

    @contextmanager
    def sdk(self, key: str) -> Iterator[OpenAI]:
        with OpenAI(base_url=self.url, api_key=key, max_retries=0) as client:
            yield client

    def post(self, key: str, **more: object) -> httpx2.Response:
        headers = {"authorization": f"Bearer {key}"} | dict(more.pop("headers", {}))
        with httpx2.Client() as client:
            return client.post(f"{self.url}/chat/completions", headers=headers, **more)


def installed(database: Database, home: Path) -> Installation:
    settings = Settings(home=home, database_url=database.url, model_retries=0, model_breaker_failures=1000)
    return Installation(settings, database, Home(home).create())


def add_model(database: Database, upstream: ScriptedServer, name: str, *uses: Use, **more: object) -> None:
    entry = ModelEntry(
        name=name,
        provider="openai",
        model="scripted",
        base_url=upstream.url,
        uses=uses,
        input_usd_per_mtok=1.0,
        output_usd_per_mtok=2.0,
        max_tokens=100,
        concurrency=64,
    )
    with database.write() as tx:
        models.put(tx, name, document_of(replace(entry, **more)))


@contextmanager
def serving(database: Database, home: Path) -> Iterator[Served]:
    """Models ``small`` and ``other`` are for candidates, ``ours`` is for operators."""
    installation = installed(database, home)
    with ScriptedServer() as upstream:
        add_model(database, upstream, "small", Use.CANDIDATE)
        add_model(database, upstream, "other", Use.CANDIDATE)
        add_model(database, upstream, "ours", Use.OPERATOR)
        endpoint = Endpoint(
            database,
            configured.open_gateway(installation),
            lambda name: configured.find(installation, name),
            lambda account: LedgerAccount(database, account),
        )
        with listening.loopback_port(0) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            server = uvicorn.Server(listening.configured(app(endpoint, port=True)))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()
            try:
                _wait(server)
                yield Served(url, installation, upstream)
            finally:
                server.should_exit = True
                thread.join(20)


def refused(served: Served, key: str, **request: Any) -> openai.APIStatusError:
    with served.sdk(key) as client, pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**({"model": "small", "messages": ASKED} | request))
    return caught.value


def script(served: Served, *replies: Reply) -> None:
    """Replies in order, the last one for ever."""
    served.upstream.script = lambda request: replies[min(request.number, len(replies)) - 1]


def port_of(served: Served) -> int:
    return int(served.url.split(":")[2].removesuffix("/v1"))


def _wait(server: uvicorn.Server) -> None:
    deadline = time.monotonic() + 20
    while not server.started:
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.01)
