"""A walk from this machine to a model, link by link, that ends at the first broken one. It makes no paid call.

Every step is bounded in time and tells what it saw and what to do next; none ever tells a key.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, TypeVar

import httpx2

from everloop.errors import EverloopError
from everloop.gateway import dialing
from everloop.gateway.base import ModelEntry
from everloop.gateway.libraries import library
from everloop.gateway.target import Target
from everloop.gateway.transport import open_client

E = TypeVar("E", bound=BaseException)

BURST = 8
"""Most requests at once that a walk sends, however many a model allows."""
LARGEST = 4 * 1024**2
"""Bytes of an answer that are read."""
SLOW_SHARE = 0.25
"""Share of the deadline above which listing models alone counts as slow."""
SHORT_DEADLINE = 10.0
"""Seconds below which a deadline cuts ordinary answers off."""
LONG_DEADLINE = 900.0
"""Seconds above which a hanging endpoint holds a run up for long."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a walk saw at one link."""

    link: str
    """``network``, ``endpoint``, ``library``, ``concurrency`` or ``connection``."""
    result: Literal["ok", "warn", "fail"]
    """``ok``, ``warn`` (works, could be better) or ``fail`` (the walk ends here)."""
    told: str
    """What was seen."""
    then: str = ""
    """What to do next; empty when nothing is to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a walk waits."""

    step: float = 4.0
    """Most seconds of one step."""
    idle: float = 2.0
    """Seconds a connection is left idle before it is used again."""
    deadline: float = 120.0
    """The installation's deadline of a model's answer, which is judged, not waited for."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer of an endpoint."""

    status: int
    """HTTP status."""
    body: bytes
    """At most `LARGEST` bytes of it."""
    seconds: float
    """How long it took."""
    local_port: int
    """Our end of the connection, which names it."""
    keepalive: bool
    """Whether the connection has TCP keepalive."""


def walk(entry: ModelEntry, secret: Callable[[ModelEntry], str | None], pace: Pace | None = None) -> list[Link]:
    """The links from here to the model, up to the first broken one."""
    target = Target.of(entry)
    if target is None:
        told = f"only the library of {entry.provider} knows its endpoint, so no link is looked at"
        return [Link("network", "warn", told, f"Try it: el model test {entry.name}")]
    return asyncio.run(Walk(entry, target, secret, pace or Pace()).links())


class Walk:
    """One walk. Steps are asked in order; each may rely on those before it."""

    def __init__(
        self, entry: ModelEntry, target: Target, secret: Callable[[ModelEntry], str | None], pace: Pace
    ) -> None:
        self._entry, self._target, self._secret, self._pace = entry, target, secret, pace
        self._key: str | None = None

    async def links(self) -> list[Link]:
        """What was seen, up to the first failure."""
        steps: dict[str, Callable[[], Awaitable[Link]]] = {
            "network": self._network,
            "endpoint": self._endpoint,
            "library": self._library,
            "concurrency": self._concurrency,
            "connection": self._connection,
        }
        found: list[Link] = []
        for name, step in steps.items():
            try:
                found.append(await step())
            except Exception as error:  # noqa: BLE001 - a walk tells what it met, whatever it is
                told = f"cannot be looked at ({type(error).__name__})"
                found.append(Link(name, "fail", told, "Check the proxy variables here, and the model's base URL"))
            if found[-1].result == "fail":
                break
        return found

    async def _network(self) -> Link:
        via = self._target.proxy
        host, port = dialing.split(via) if via else (self._target.host, self._target.port)
        what = f"the proxy {via}" if via else self._target.shown
        try:
            addresses = await dialing.resolve(host, port, self._pace.step)
            seconds = await dialing.connect(addresses, self._pace.step)
        except dialing.Undialled as error:
            return Link("network", "fail", f"{what}: {error.told}", error.then)
        return Link("network", "ok", f"{what} is {addresses[0][4][0]}, TCP connects in {seconds * 1000:.0f} ms")

    async def _endpoint(self) -> Link:
        try:
            self._key = self._secret(self._entry)
        except EverloopError as error:
            return Link("endpoint", "fail", f"{error.what}: {error.why}", error.then)
        try:
            async with self._client() as client:
                seen = await self._ask(client)
        except ImportError:
            told = f"the proxy {self._target.proxy} needs a library that is not installed"
            return Link("endpoint", "fail", told, "Install it: pip install socksio, or use an HTTP proxy")
        except (httpx2.TransportError, TimeoutError, OSError) as error:
            return Link("endpoint", "fail", *self._broken(error))
        return self._status(seen)

    def _status(self, seen: Seen) -> Link:
        told = f"{self._target.shown} answers {_named(seen.status)} in {seen.seconds * 1000:.0f} ms"
        if seen.status in {401, 403}:
            return Link(
                "endpoint",
                "fail",
                f"{told}: {self._refused()}",
                f"Give its key: el model add {self._entry.name} ... --key-env VAR or --key-stdin",
            )
        if seen.status == 404:
            then = "Give the base URL without /v1" if self._target.anthropic else "Most base URLs end in /v1"
            return Link("endpoint", "fail", f"{told}: the path of the base URL is wrong", f"{then}: --base-url")
        if 300 <= seen.status < 400:
            return Link("endpoint", "fail", f"{told}: it sends callers elsewhere", "Give the final address: --base-url")
        if seen.status >= 500:
            then = "Look at the server's log, or at the provider's status page"
            return Link("endpoint", "fail", f"{told}: it is reached and not well", then)
        if seen.status == 429:
            return Link("endpoint", "warn", f"{told}: its limit is reached", "Wait, or ask its provider for more")
        if seen.status != 200:
            return Link(
                "endpoint", "warn", f"{told} to a listing of models", f"Try it: el model test {self._entry.name}"
            )
        return self._listed(told, seen.body)

    def _refused(self) -> str:
        return "the key is refused" if self._key else "it wants a key and the model has none"

    def _listed(self, told: str, body: bytes) -> Link:
        names = _ids(body)
        if names is None:
            return Link("endpoint", "warn", f"{told}, which is no list of models", "Check the path of --base-url")
        if names and self._entry.model not in names:
            some = ", ".join(sorted(names)[:5])
            return Link(
                "endpoint", "warn", f"{told}, without the model {self._entry.model}", f"It has: {some}; --model"
            )
        return Link("endpoint", "ok", told)

    async def _library(self) -> Link:
        found = library(self._target.anthropic)
        return Link("library", found.result, found.told, found.then)

    async def _concurrency(self) -> Link:
        """A small burst; the time it takes says what a deadline must leave room for."""
        count = max(1, min(self._entry.concurrency, BURST, self._entry.requests_per_minute or BURST))
        async with self._client() as client:
            asked = [self._ask(client) for _ in range(count)]
            got = await asyncio.gather(*asked, return_exceptions=True)
        seen = [one for one in got if isinstance(one, Seen)]
        broken = [one for one in got if isinstance(one, Exception)]
        if broken:
            told, _ = self._broken(broken[0])
            return Link("concurrency", "fail", f"{len(broken)} of {count} requests at once fail: {told}", _FEWER)
        refused = [one for one in seen if one.status == 429 or one.status >= 500]
        if refused:
            told = f"{len(refused)} of {count} requests at once are answered {_named(refused[0].status)}"
            return Link("concurrency", "warn", told, _FEWER)
        return self._deadline([one.seconds for one in seen])

    def _deadline(self, seconds: Sequence[float]) -> Link:
        deadline = self._pace.deadline
        middle, longest = statistics.median(seconds) * 1000, max(seconds) * 1000
        told = f"{len(seconds)} at once: median {middle:.0f} ms, longest {longest:.0f} ms; deadline {deadline:g} s"
        if deadline < SHORT_DEADLINE or max(seconds) > deadline * SLOW_SHARE:
            return Link("concurrency", "warn", f"{told} is short", "Raise EVERLOOP_MODEL_DEADLINE_SECONDS")
        if deadline > LONG_DEADLINE:
            return Link("concurrency", "warn", f"{told} is long", "Lower EVERLOOP_MODEL_DEADLINE_SECONDS")
        return Link("concurrency", "ok", told)

    async def _connection(self) -> Link:
        """Whether a connection that was idle for a while still works, and what stands between here and there."""
        way = f"through the proxy {self._target.proxy}" if self._target.proxy else "no proxy"
        idle = f"{self._pace.idle:g} s idle"
        try:
            async with self._client() as client:
                first = await self._ask(client)
                await asyncio.sleep(self._pace.idle)
                second = await self._ask(client)
        except (httpx2.TransportError, TimeoutError, OSError) as error:
            told, _ = self._broken(error)
            then = "A firewall or proxy drops idle connections: let it keep them, or raise its idle time"
            return Link("connection", "fail", f"{way}; after {idle}: {told}", then)
        if not first.keepalive:
            then = (
                "A firewall may drop a long answer unseen: let the proxy and it keep idle connections for the deadline"
            )
            return Link("connection", "warn", f"{way}; TCP keepalive is off", then)
        if first.local_port != second.local_port:
            then = "It works; each call after a pause pays for a new connection"
            return Link("connection", "warn", f"{way}; keepalive is on; the other side closes after {idle}", then)
        return Link("connection", "ok", f"{way}; keepalive is on; usable after {idle}")

    def _client(self) -> httpx2.AsyncClient:
        """The gateway's own client: the same proxies and connections as its calls."""
        return open_client(self._target.url, self._pace.step, BURST)

    async def _ask(self, client: httpx2.AsyncClient) -> Seen:
        begun = time.monotonic()
        # httpx bounds each read; only a deadline over everything ends an answer that drips in.
        async with (
            asyncio.timeout(self._pace.step),
            client.stream("GET", self._target.models, headers=self._target.headers(self._key)) as response,
        ):
            port, alive = _facts(response.extensions["network_stream"].get_extra_info("socket"))
            body = b""
            async for part in response.aiter_bytes():
                body += part
                if len(body) > LARGEST:
                    break
        return Seen(response.status_code, body, time.monotonic() - begun, port, alive)

    def _broken(self, error: BaseException) -> tuple[str, str]:
        """What an error of the transport means, and what to do about it."""
        shown = self._target.shown
        if isinstance(error, TimeoutError | httpx2.TimeoutException):
            told = f"{shown} takes the connection and does not answer in {self._pace.step:g} s"
            return told, "Look whether the server is overloaded or still loading, and for a firewall in between"
        if (certificate := _cause(error, ssl.SSLCertVerificationError)) is not None:
            told = f"the certificate of {shown} is not trusted: {certificate.verify_message}"
            return told, "Set SSL_CERT_FILE to the authority's certificate, or correct the host of --base-url"
        if _cause(error, ssl.SSLError) is not None:
            return f"{shown} speaks no TLS", "Give the base URL with http:// if the server is meant to speak plain http"
        if isinstance(error, httpx2.ProxyError):
            return (
                f"the proxy {self._target.proxy} refuses to connect to {shown}",
                "Ask who runs the proxy, or set NO_PROXY",
            )
        if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError):
            then = (
                "Check the port"
                if self._target.tls
                else "Check the port; if it speaks TLS, give https:// in --base-url"
            )
            return f"{shown} ends the connection or answers no HTTP", then
        return f"{shown} cannot be used ({type(error).__name__})", "Look at the server's log and the network"


_FEWER = "Lower it: el model add ... --concurrency N, or --requests-per-minute N"


def _facts(connection: socket.socket | None) -> tuple[int, bool]:
    """Our port of a connection, and whether it has TCP keepalive."""
    if connection is None:
        return 0, False
    alive = connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    return int(connection.getsockname()[1]), bool(alive)


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _cause(error: BaseException | None, kind: type[E]) -> E | None:
    while error is not None:
        if isinstance(error, kind):
            return error
        error = error.__cause__ or error.__context__
    return None


def _ids(body: bytes) -> set[str] | None:
    """Ids in a listing of models; empty when it is only a part of the list, None when it is none."""
    try:
        document = json.loads(body)
    except ValueError:
        return None
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, list):
        return None
    if document.get("has_more"):
        return set()
    return {str(one["id"]) for one in data if isinstance(one, dict) and "id" in one}
