"""The desk of an operator or auditor that is a language model: paid calls, turn boundaries, steers.

Everything that happens at a desk is journalled: worked again after a crash, the same requests get the same answers and
the same turns the same steers, nothing is told twice, and nothing is paid twice.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from sqlalchemy import Connection

from everloop.errors import ModelNotConfigured
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.gateway.base import Use
from everloop.loop.context import Context
from everloop.loop.journal import Done
from everloop.store import phases, steers

if TYPE_CHECKING:
    from pydantic_ai.models import Model

T = TypeVar("T")

TURN = "turn-of-model"
"""Phase of a turn boundary."""


class LoopDesk:
    """A desk in one phase of a round."""

    def __init__(self, context: Context, number: int, phase: str, candidate: str = "") -> None:
        self._context, self._number, self._phase, self._candidate = context, number, phase, candidate
        self._runs = self._turns = 0
        self._keys: set[str] = set()

    def has(self, role: Use) -> bool:
        """Whether the run has a model for the role."""
        return self._name(role) is not None

    def run(self, role: Use, work: Callable[[Model], Awaitable[T]]) -> T:
        """Run `work` with the role's model on the gateway's loop."""
        name = self._name(role)
        if name is None:
            then = f"Configure one with `el model add ... --for {role}`, or name another {role} in the start's options"
            raise ModelNotConfigured(f"the run has no model for the {role}", then=then)
        self._runs += 1
        key = ".".join(filter(None, (f"r{self._number}", self._phase, self._candidate, role, str(self._runs))))
        gateway = self._context.means.gateway
        return gateway.run(lambda: work(gateway.model(name, self._context.account, key)))

    async def turn(
        self, role: Use, tool: str | None, text: str, data: Mapping[str, JsonValue], *, deliver: bool = True
    ) -> Sequence[str]:
        """A turn boundary; the steers it returns are delivered with it."""
        self._turns += 1
        # the words are part of the key: another conversation, after a pause, has turns of its own
        words = hashlib.sha256(f"{tool}\0{text}".encode()).hexdigest()[:12]
        key = ".".join(filter(None, (self._phase, self._candidate, str(self._turns), words)))
        self._keys.add(key)
        takes = deliver and role is Use.OPERATOR
        return await asyncio.to_thread(self._boundary, _event(role, tool, text, dict(data)), key, takes)

    def _boundary(self, happened: Event, key: str, takes: bool) -> list[str]:
        journalled = self._context.journal.phase(
            self._number, TURN, lambda _: self._told(happened, takes), candidate=key
        )
        return cast(list[str], journalled["steers"])

    def _told(self, happened: Event, takes: bool) -> Done:
        run, number = self._context.run, self._number
        waiting = []
        if takes:
            with self._context.means.database.read() as tx:
                waiting = steers.queued(tx, run)
        told = [happened]
        told += [
            Event(EventKind.STEER, f"steer delivered: {one.text}", role=happened.role, data=_delivered(one.id))
            for one in waiting
        ]

        def write(tx: Connection) -> None:
            steers.mark_delivered(tx, run, [one.id for one in waiting], number)

        texts: list[JsonValue] = [one.text for one in waiting]
        ids: list[JsonValue] = [one.id for one in waiting]
        placed = [replace(one, round=number, phase=self._phase) for one in told]
        return Done({"steers": texts, "ids": ids}, placed, write, columns={"phase": self._phase})

    def unheard(self) -> list[int]:
        """Steers that were given to a conversation of this phase which was broken off and not taken up again."""
        with self._context.means.database.read() as tx:
            found = phases.results(tx, self._context.run, TURN, self._number)
        return [
            steer
            for key, result in found
            if key.startswith(f"{self._phase}.") and key not in self._keys
            for steer in cast(list[int], result["ids"])
        ]

    def _name(self, role: Use) -> str | None:
        return cast(str | None, self._context.options.get(f"{role}_model"))


def _event(role: Use, tool: str | None, text: str, data: Json) -> Event:
    kind = EventKind.TOOL_CALL if tool else EventKind.MESSAGE
    return Event(kind, text, role=str(role), tool=tool, data=data)


def _delivered(steer: int) -> Json:
    return {"steer": steer, "status": "delivered"}
