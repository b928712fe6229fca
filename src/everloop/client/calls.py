"""What every group of methods stands on: a request goes out, an `Answer` comes back.

`Client` answers with documents, `AsyncClient` with awaitables of them, so each method is written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from everloop.client.operations import OPERATIONS, Request
from everloop.events import JsonValue

Answer = TypeVar("Answer")
"""What a method returns."""


class Calls(ABC, Generic[Answer]):
    """One method a route; arguments that are None are left out of the request."""

    @abstractmethod
    def _send(self, request: Request) -> Answer:
        """Send a request whose answer is an object."""

    def _call(self, name: str, /, **given: JsonValue) -> Answer:
        return self._send(OPERATIONS[name].request(given))
