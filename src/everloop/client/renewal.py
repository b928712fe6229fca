"""Finding the server of `el up` again: each start gives it another key, and perhaps another port."""

from __future__ import annotations

from dataclasses import dataclass

from everloop.client import connection
from everloop.client.connection import Connection
from everloop.client.errors import RemoteError, Unreachable

WAITS = (0.2, 0.5, 1.0)
"""Seconds before each further look at what `el up` wrote."""


@dataclass(slots=True)
class Renewal:
    """What to try when one request was refused; without I/O but for reading ``connection.json``."""

    connection: Connection
    """The connection of the last try."""
    tries: int = 0
    """Tries after the first."""

    def after(self, error: RemoteError) -> tuple[Connection, float]:
        """The connection of the next try, and the seconds to wait before it.

        Raises `error` where no other try would fare better. A key that is refused while no `el up` says where it is
        means that one is ending or starting: then it is `Unreachable`, so that following waits for it.
        """
        refused = isinstance(error, Unreachable) and error.refused
        if not self.connection.of_up or not (refused or error.http == 401):
            raise error
        found = connection.renewed(self.connection)
        if found is not None and found != self.connection and self.tries < len(WAITS):
            self.connection, self.tries = found, self.tries + 1
            return found, 0.0
        if refused:
            raise error
        if self.tries < len(WAITS):
            self.tries += 1
            return self.connection, WAITS[self.tries - 1]
        if found is None:
            raise Unreachable("`el up` is ending or starting", then="Wait until it runs, or start it") from error
        raise error
