"""Rate limits: so many requests a minute of one key or session, a tenth of that for strangers of one address."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable

from everloop.api.windows import Windows
from everloop.errors import RateLimited

STRANGERS = 10
"""A refused key or sign-in counts as so many requests."""


class Rates:
    """The counters of one server process; several processes each have their own. `clock`: seconds that only grow."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._windows = Windows(clock)
        self._known, self._stranger = per_minute, max(10, per_minute // STRANGERS)

    def count(self, subject: str) -> None:
        """Count a request of a known caller; RateLimited beyond the limit, with the seconds to wait."""
        if not self._windows.hit(f"caller {subject}", self._known):
            self._refuse(self._known)

    def refused(self, address: str) -> None:
        """Count a refused key or sign-in of an address."""
        self._windows.hit(f"address {network(address)}", self._stranger)

    def check(self, address: str) -> None:
        """RateLimited for an address that had too many keys or sign-ins refused.

        Looked at before a password, link, code or grant is compared; of keys and sessions, when one was refused.
        """
        if not self._windows.room(f"address {network(address)}", self._stranger):
            self._refuse(self._stranger)

    def first(self, what: str) -> bool:
        """Whether `what` is seen for the first time within a minute."""
        return self._windows.hit(f"once {what}", 1)

    def few(self, what: str) -> bool:
        """Whether `what` is seen no more often within a minute than an address may be refused."""
        return self._windows.hit(f"few {what}", self._stranger)

    def _refuse(self, most: int) -> None:
        wait = math.ceil(self._windows.wait())
        why = f"the limit is {most} a minute"
        raise RateLimited("too many requests", why=why, then=f"Wait {wait} seconds", retry_after=wait)


def network(address: str) -> str:
    """What counts as one address: an IPv6 host has a whole /64 of them to choose from."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found), 64), strict=False))
