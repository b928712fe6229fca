"""A gateway over a scripted server, for the tests of this floor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pydantic_ai import Agent
from scripted import Reply, Request, ScriptedServer

from everloop.errors import CapReached
from everloop.gateway.base import ModelEntry
from everloop.gateway.gateway import Gateway
from everloop.gateway.limits import GatewayLimits
from everloop.gateway.memory_account import MemoryAccount
from everloop.gateway.model import GatewayModel

KEY = "sk-test-0123456789abcdef"
QUICK = GatewayLimits(deadline_seconds=0.4, retries=2, backoff_seconds=0.01, breaker_failures=50, breaker_seconds=0.2)
"""For faults that keep silent until the deadline."""
CALM = replace(QUICK, deadline_seconds=20.0)
"""For whatever answers, also on a busy machine."""
INPUT, OUTPUT, MOST = 1.0, 10.0, 100
ANSWERED = 100 + 50 * 10
"""Micro-dollars of the scripted usual answer."""
WIRES = ("openai", "anthropic")


def faults(*replies: Reply | str) -> Callable[[Request], Reply]:
    """A script that goes through faults, the last one for ever."""
    left = [one if isinstance(one, Reply) else Reply(fault=one) for one in replies]
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@dataclass
class Rig:
    """A server, a gateway to it and an account."""

    server: ScriptedServer
    gateway: Gateway
    account: MemoryAccount
    entries: dict[str, ModelEntry] = field(default_factory=dict)

    def model(self, key: str = "k", account: MemoryAccount | None = None) -> GatewayModel:
        return self.gateway.model("m", account or self.account, key)

    def change(self, **fields: Any) -> None:
        self.entries["m"] = replace(self.entries["m"], **fields)

    def ask(self, prompt: str = "hi", key: str = "k", stream: bool = False) -> str:
        return self.gateway.run(lambda: answer(self.model(key), prompt, stream))

    @property
    def worst(self) -> int:
        """Micro-dollars one attempt at "hi" may cost, from an account that cannot pay it."""
        account = MemoryAccount(usd_cap=0)
        with pytest.raises(CapReached) as caught:
            self.gateway.run(lambda: answer(self.model("worst", account), "hi"))
        return int(str(caught.value).partition("may need ")[2].split(".")[0])

    @property
    def money(self) -> tuple[int, int, int]:
        """Spent and held micro-dollars, requests."""
        return self.account.spent.micros, self.account.held.micros, self.account.requests


async def answer(model: GatewayModel, prompt: str, stream: bool = False) -> str:
    if not stream:
        return (await Agent(model).run(prompt)).output
    async with Agent(model).run_stream(prompt) as result:
        return await result.get_output()


@dataclass
class RawServer(ScriptedServer):
    """Answers with given bytes, and closes the connection."""

    answers: list[bytes] = field(default_factory=list)

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
        await writer.drain()
        return False


def http(status: int, body: str, kind: str = "application/json", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


@contextmanager
def rig(
    script: Callable[[Request], Reply] | list[bytes] = lambda _: Reply(),
    wire: str = "openai",
    limits: GatewayLimits = CALM,
    account: MemoryAccount | None = None,
    secret: str | None = KEY,
    **fields: Any,
) -> Iterator[Rig]:
    with RawServer(answers=script) if isinstance(script, list) else ScriptedServer(script) as server:
        url = server.url if wire == "openai" else server.url.removesuffix("/v1")
        given: dict[str, Any] = {"name": "m", "provider": wire, "model": "scripted", "base_url": url}
        given |= {"input_usd_per_mtok": INPUT, "output_usd_per_mtok": OUTPUT, "max_tokens": MOST}
        entries = {"m": ModelEntry(**(given | fields))}
        with Gateway(entries.__getitem__, lambda _: secret, limits) as gateway:
            yield Rig(server, gateway, account or MemoryAccount(), entries)
