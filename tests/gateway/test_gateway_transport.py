"""The HTTP client: keepalive, proxies of the environment, and nothing past a seal."""

from __future__ import annotations

import asyncio
import socket

import httpx2
import pytest
from lines import rig

from everloop.gateway.transport import open_client, sealed_client


def test_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with rig() as it:
        monkeypatch.setenv("http_proxy", it.server.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "")
        it.change(base_url="http://model.invalid/v1")
        assert it.ask() == "ok"
        assert it.server.requests[0].path == "http://model.invalid/v1/chat/completions"


def test_host_without_a_proxy_is_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with rig() as it:
        assert it.ask() == "ok"


def test_connections_are_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    set_options: list[tuple[int, int, int]] = []
    plain = socket.socket.setsockopt

    class Noted(socket.socket):
        def setsockopt(self, *option: int) -> None:  # type: ignore[override]
            set_options.append(option)  # type: ignore[arg-type]
            plain(self, *option)

    monkeypatch.setattr(socket, "socket", Noted)

    async def go(url: str) -> None:
        async with open_client(url, 5.0, 2) as client:
            await client.get(f"{url}/models")

    with rig() as it:
        asyncio.run(go(it.server.url))
    assert (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1) in set_options


def test_sealed_client_sends_nothing() -> None:
    async def go(url: str) -> None:
        async with sealed_client() as client:
            with pytest.raises(httpx2.ConnectError, match="through its gateway"):
                await client.get(url)

    with rig() as it:
        asyncio.run(go(it.server.url))
        assert it.server.requests == []
