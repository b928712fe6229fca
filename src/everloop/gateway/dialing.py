"""Names and addresses, each looked for within a bounded time."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]
"""What ``getaddrinfo`` gives."""


class Undialled(Exception):
    """No connection came about."""

    def __init__(self, told: str, then: str) -> None:
        self.told, self.then = told, then
        super().__init__(told)


def split(shown: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``."""
    host, _, port = shown.rpartition(":")
    return host.strip("[]"), int(port)


async def resolve(host: str, port: int, seconds: float) -> list[Address]:
    """Addresses of a name. Undialled when there are none, or none in time."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[Address]] = loop.create_future()

    def settle(found: list[Address], failed: Exception | None) -> None:
        if not future.done():
            future.set_exception(failed) if failed else future.set_result(found)

    def look() -> None:
        found: list[Address] = []
        failed: Exception | None = None
        try:
            found = list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            failed = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, found, failed)

    # A thread of our own: the loop would wait at its end for one of its pool that hangs in the resolver.
    threading.Thread(target=look, daemon=True, name="resolve").start()
    try:
        return await asyncio.wait_for(future, seconds)
    except TimeoutError as error:
        told = f"its name is not resolved within {seconds:g} s"
        raise Undialled(told, "Check this machine's name servers (DNS)") from error
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is no valid name"
        raise Undialled(
            f"its name does not resolve: {why}", "Check the host of --base-url, and the DNS here"
        ) from error


async def connect(addresses: Sequence[Address], seconds: float) -> float:
    """Seconds a TCP connection to the first address that takes one needed. Undialled when none does."""
    begun, failed = time.monotonic(), OSError("no address")
    try:
        async with asyncio.timeout(seconds):
            for family, *_, address in addresses:
                try:
                    await _dial(family, address)
                except OSError as error:
                    failed = error
                else:
                    return time.monotonic() - begun
    except TimeoutError as error:
        then = "A firewall may drop what is sent there; check host and port, and whether a proxy is needed"
        raise Undialled(f"no connection within {seconds:g} s", then) from error
    if isinstance(failed, ConnectionRefusedError):
        raise Undialled("connections are refused", "Start the server, or correct the port of --base-url") from failed
    raise Undialled(f"no connection: {failed.strerror or failed}", "Check the route and the firewall") from failed


async def _dial(family: int, address: object) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as plain:
        plain.setblocking(False)
        await asyncio.get_running_loop().sock_connect(plain, address)  # type: ignore[arg-type]  # as getaddrinfo gave it
