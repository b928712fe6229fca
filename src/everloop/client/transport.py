"""Sending requests over HTTP; one pool of connections a client."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from everloop import __version__
from everloop.client import answers
from everloop.client.address import loopback
from everloop.client.connection import Connection
from everloop.client.errors import RemoteError, Unreachable
from everloop.client.operations import Request
from everloop.events import JsonValue

TIMEOUT_SECONDS = 30.0
"""Longest silence of a server that a request bears."""
CONNECT_SECONDS = 5.0
"""Longest wait for a connection."""
_AGENT = f"everloop/{__version__}"


class Transport:
    """Requests of a program that waits for each."""

    def __init__(self, connection: Connection, timeout: float = TIMEOUT_SECONDS) -> None:
        self.connection = connection
        self._http = httpx2.Client(
            headers=connection.headers | {"User-Agent": _AGENT},
            timeout=httpx2.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
            verify=_certificates(connection.base_url),
            trust_env=_outside(connection.base_url),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, request: Request) -> JsonValue:
        """The JSON of the answer; RemoteError when it is refused or none comes."""
        url = self.connection.base_url + request.path
        with _translated(), self._http.stream(request.method, url, content=request.content) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                _grow(body, chunk, response.status_code)
            return answers.read(response.status_code, response.headers, bytes(body))

    @contextmanager
    def open(self, url: str) -> Iterator[Iterator[bytes]]:
        """The bytes of a file at an address that needs no key; it is sent none."""
        with (
            _translated(),
            httpx2.Client(timeout=TIMEOUT_SECONDS, verify=_certificates(url), trust_env=_outside(url)) as http,
            http.stream("GET", url, headers={"User-Agent": _AGENT}) as response,
        ):
            if response.status_code != 200:
                raise RemoteError("the file could not be fetched", http=response.status_code)
            yield response.iter_bytes()


class AsyncTransport:
    """Requests of a program that does other things meanwhile."""

    def __init__(self, connection: Connection, timeout: float = TIMEOUT_SECONDS) -> None:
        self.connection = connection
        self._http = httpx2.AsyncClient(
            headers=connection.headers | {"User-Agent": _AGENT},
            timeout=httpx2.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
            verify=_certificates(connection.base_url),
            trust_env=_outside(connection.base_url),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(self, request: Request) -> JsonValue:
        """The JSON of the answer; RemoteError when it is refused or none comes."""
        url = self.connection.base_url + request.path
        with _translated():
            async with self._http.stream(request.method, url, content=request.content) as response:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    _grow(body, chunk, response.status_code)
                return answers.read(response.status_code, response.headers, bytes(body))


def _outside(url: str) -> bool:
    """Whether proxies and certificates of the environment matter: not for plain http on this machine."""
    return url.startswith("https:") or not loopback(url)


def _certificates(url: str) -> ssl.SSLContext:
    """The system's certificates; none, so that no TLS connection could be made, where plain http is spoken.

    Reading them takes a quarter of a second, which a command on this machine need not wait.
    """
    return httpx2.create_ssl_context() if _outside(url) else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _grow(body: bytearray, chunk: bytes, status: int) -> None:
    body += chunk
    if len(body) > answers.MOST_BYTES:
        raise answers.too_long(status)


@contextmanager
def _translated() -> Iterator[None]:
    """What goes wrong on the way, as an error of the tree."""
    try:
        yield
    except (httpx2.TransportError, httpx2.DecodingError, httpx2.InvalidURL) as error:
        what = f"the server does not answer: {type(error).__name__}"
        refused = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
        then = "Check the base URL and whether the server runs"
        raise Unreachable(what, then=then, refused=refused) from error
