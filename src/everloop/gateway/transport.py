"""The HTTP client of a model: TCP keepalive, proxies of the environment, no redirects, and a note of what was sent."""

from __future__ import annotations

import socket
import ssl
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

CONNECT_SECONDS = 5.0
KEEPALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), seconds)
        for name, seconds in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]
"""A long answer sends nothing for minutes; without keepalive a firewall forgets the connection meanwhile."""
NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


@dataclass(slots=True)
class Sending:
    """What one attempt put on the wire."""

    sent: bool = False
    """Whether the endpoint may have received the request, and bill it."""


sending: ContextVar[Sending | None] = ContextVar("sending", default=None)
"""The attempt under way in this context."""


class NotingTransport(httpx2.AsyncHTTPTransport):
    """Notes in `sending` that a request left this machine: only then may it cost anything."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request."""
        noted = sending.get()
        if noted is None:
            return await super().handle_async_request(request)
        before, noted.sent = noted.sent, True
        try:
            return await super().handle_async_request(request)
        except NOT_SENT:
            noted.sent = before
            raise


class SealedTransport(httpx2.AsyncBaseTransport):
    """Sends nothing, ever: what a model outside its gateway gets."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Refuse."""
        raise httpx2.ConnectError("a model is reached through its gateway only", request=request)


def open_client(base_url: str, deadline: float, connections: int) -> httpx2.AsyncClient:
    """The client for one endpoint."""
    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    transport = NotingTransport(verify=_tls(), limits=limits, socket_options=KEEPALIVE, proxy=_proxy(base_url))
    timeout = httpx2.Timeout(deadline, connect=CONNECT_SECONDS)
    return httpx2.AsyncClient(transport=transport, timeout=timeout, follow_redirects=False)


def sealed_client() -> httpx2.AsyncClient:
    """A client that reaches nothing."""
    return httpx2.AsyncClient(transport=SealedTransport(), trust_env=False)


@cache
def _tls() -> ssl.SSLContext:
    """The trusted certificates, which take longer to load than a call takes."""
    return httpx2.create_ssl_context()


def _proxy(base_url: str) -> str | None:
    """The environment's proxy for an endpoint: httpx looks there itself only when it makes its own transport."""
    url = urlsplit(base_url)
    host = url.hostname or ""
    if host and proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(url.scheme or "https") or proxies.get("all")
