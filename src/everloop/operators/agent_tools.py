"""What the operator's model may read: failures, earlier rounds, the owner's standing instructions, figures."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field
from pydantic_ai import Tool

from everloop.events import JsonValue
from everloop.operators.agent_context import RESULT_BYTES
from everloop.operators.agent_instructions import diagnosis, newest
from everloop.operators.base import Briefing
from everloop.operators.quoting import fenced, owner, quoted

MOST_CALLS = 8
"""Tool calls of a turn that are answered."""
MOST_SAME = 2
"""Calls of a tool with the same arguments that are answered."""
MOST_ROWS = 10
"""Most failures or rounds of one call."""

Whole = Annotated[int, Field(ge=-(10**9), le=10**9)]
"""A number as an argument: what is far from any round or row is given back before anything works with it."""

Boundary = Callable[[str, str, Mapping[str, JsonValue]], Awaitable[None]]
"""Told (tool, text, data) before a tool works."""


@dataclass(slots=True)
class Allowance:
    """Counts the tool calls of a turn and refuses what goes beyond."""

    calls: int = 0
    """Calls so far, refused ones among them."""
    refused: int = 0
    """Calls refused so far."""
    _same: Counter[str] = field(default_factory=Counter)

    def refusal(self, tool: str, arguments: Mapping[str, JsonValue]) -> str | None:
        """Count a call; why it is refused, or None."""
        key = f"{tool} {json.dumps(dict(arguments), sort_keys=True)}"
        self.calls += 1
        self._same[key] += 1
        if self.calls <= MOST_CALLS and self._same[key] <= MOST_SAME:
            return None
        self.refused += 1
        why = f"more than {MOST_CALLS} tool calls" if self.calls > MOST_CALLS else f"called more than {MOST_SAME} times"
        return f"Refused: {tool} {why}. Hand in your answer now; with another tool call the turn ends without one."


class Tools:
    """The tools of one turn. What they return of others is fenced and clipped."""

    def __init__(self, briefing: Briefing, allowance: Allowance, boundary: Boundary) -> None:
        self._briefing, self._allowance, self._boundary = briefing, allowance, boundary

    def all(self) -> list[Tool[object]]:
        """The tools as pydantic-ai takes them; one at a time, so that the same answer is worked off the same way."""
        functions = (
            self.read_failures,
            self.read_history,
            self.read_directives,
            self.data_statistics,
            self.propose_plan,
        )
        return [Tool[object](function, sequential=True, takes_ctx=False) for function in functions]

    async def read_failures(self, family: str, limit: Whole = 5) -> str:
        """Failed answers of the head in this round.

        Args:
            family: Exact name of a family in the diagnosis.
            limit: How many, 1 to 10.
        """
        return await self._called(
            "read_failures", {"family": family, "limit": limit}, lambda: self._failed(family, limit)
        )

    async def read_history(self, before_round: Whole, limit: Whole = 5) -> str:
        """What became of earlier rounds, newest first.

        Args:
            before_round: Only rounds before this one, at most the present one; page back with the last you were shown.
            limit: How many, 1 to 10.
        """
        arguments: dict[str, JsonValue] = {"before_round": before_round, "limit": limit}
        refusal = await self._announced("read_history", arguments)
        if refusal:
            return refusal
        # the store is read in a thread: other runs' requests share this event loop
        return await asyncio.to_thread(self._rounds, before_round, limit)

    async def read_directives(self) -> str:
        """The owner's standing instructions, newest first."""
        return await self._called("read_directives", {}, self._standing)

    async def data_statistics(self) -> str:
        """Right answers, items and failure samples of each family, and the limits in force."""
        return await self._called("data_statistics", {}, self._figures)

    async def propose_plan(self, text: str) -> str:
        """Tell readers your plan in words, before you hand it in. Binds you to nothing.

        Args:
            text: The plan in a few sentences.
        """
        return await self._called("propose_plan", {"text": text}, lambda: "Readers were told.")

    async def _called(self, tool: str, arguments: Mapping[str, JsonValue], work: Callable[[], str]) -> str:
        refusal = await self._announced(tool, arguments)
        return refusal if refusal else work()

    async def _announced(self, tool: str, arguments: Mapping[str, JsonValue]) -> str | None:
        """The turn boundary before a call; why the call is refused, or None."""
        shown = {name: quoted(value, 300) if isinstance(value, str) else value for name, value in arguments.items()}
        text = f"{tool}({', '.join(f'{name}={value}' for name, value in shown.items())})"
        await self._boundary(tool, text, {"arguments": dict(shown)})
        return self._allowance.refusal(tool, arguments)

    def _failed(self, family: str, limit: int) -> str:
        if family not in self._briefing.families:
            return f"There is no family {quoted(family)}. Families: {', '.join(self._briefing.families):.1000}"
        if not 1 <= limit <= MOST_ROWS:
            return f"limit must be 1 to {MOST_ROWS}"
        found = [one for one in self._briefing.failures if one.family == family][:limit]
        lines = []
        for place, one in enumerate(found, 1):
            gold = f"\n   right answer: {one.gold:.200}" if one.gold else ""
            lines.append(
                f"{place}. task: {one.goal:.400}\n   answer: {one.action:.400}{gold}\n   note: {one.improvement:.200}"
            )
        return fenced(f"{len(found)} failures of {family}", "\n".join(lines) or "none", RESULT_BYTES)

    def _rounds(self, before: int, limit: int) -> str:
        if not 1 <= limit <= MOST_ROWS or before < 1:
            return f"before_round must be at least 1, limit 1 to {MOST_ROWS}"
        if self._briefing.history is None:
            return "No history is kept here."
        before = min(before, self._briefing.round)  # no later round has ended, and the store holds no such number
        found = self._briefing.history(before, limit)[:limit]
        lines = [f"round {one.round} {one.decision}: {one.summary:.250}\n   plan: {one.plan:.250}" for one in found]
        return fenced(f"{len(found)} rounds before round {before}", "\n".join(lines) or "none", RESULT_BYTES)

    def _standing(self) -> str:
        return owner("standing instructions, newest first", newest(self._briefing.directives) or "none", RESULT_BYTES)

    def _figures(self) -> str:
        samples = Counter(one.family for one in self._briefing.failures)
        lines = [f"failure samples: {', '.join(f'{name} {n}' for name, n in sorted(samples.items())) or 'none'}"]
        lines.append(f"max_rows_per_family: {self._briefing.max_rows_per_family}")
        lines.append(f"defaults: {json.dumps(self._briefing.defaults.to_json())}")
        lines.append(f"plans rejected against this head: {len(self._briefing.tried)}")
        return fenced("statistics", "\n".join([*lines, diagnosis(self._briefing.families)]), RESULT_BYTES)
