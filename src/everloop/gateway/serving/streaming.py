"""Streamed answers as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

from everloop.events import Json
from everloop.gateway.serving.completion import Completion, finish, tool_calls
from everloop.gateway.serving.question import Question
from everloop.gateway.serving.refusals import Refusal, refusal, unavailable

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class Stream:
    """An answer on its way.

    A task of its own takes it from the model at the model's pace, so that a reader who is slow or gone holds nobody up
    and the request is settled at its true cost. What waits is bounded by the request's output tokens.
    """

    def __init__(self, completion: Completion, *, with_usage: bool) -> None:
        self._completion, self._with_usage = completion, with_usage
        self._waiting: asyncio.Queue[Json | Refusal | None] = asyncio.Queue()
        self._begun = False

    async def fill(self, model: Model, asked: Question) -> None:
        """Ask the model; ends when the answer, or the refusal it became, is in full."""
        try:
            response = await self._streamed(model, asked)
            self._end(response)
        except asyncio.CancelledError:
            self._waiting.put_nowait(unavailable("the gateway is closing", "service_unavailable"))
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the reader gets its refusal
            self._waiting.put_nowait(refusal(error))

    async def first(self) -> Json:
        """The first chunk. Refusal when there is none: nothing has been sent then, so its status can be."""
        item = await self._waiting.get()
        if isinstance(item, Refusal):
            raise item
        assert item is not None, "a stream begins before it ends"
        return item

    async def events(self, first: Json) -> AsyncIterator[bytes]:
        """The answer's events, the first of which was taken before; a refusal in between is the last event."""
        yield _event(first)
        while (item := await self._waiting.get()) is not None:
            if isinstance(item, Refusal):
                yield _event(item.to_json())
                return
            yield _event(item)
        yield b"data: [DONE]\n\n"

    async def _streamed(self, model: Model, asked: Question) -> ModelResponse:
        async with model.request_stream(asked.messages, asked.settings, asked.parameters) as streamed:
            async for event in streamed:
                text = ""
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    text = event.part.content
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    text = event.delta.content_delta
                if text:
                    self._say({"content": text})
            return streamed.get()

    def _say(self, delta: Json, ending: str | None = None) -> None:
        if not self._begun:
            self._begun = True
            self._waiting.put_nowait(self._completion.chunk({"role": "assistant", "content": ""}))
        self._waiting.put_nowait(self._completion.chunk(delta, ending))

    def _end(self, response: ModelResponse) -> None:
        ending = finish(response)
        # Calls are sent whole: their pieces arrive in another form, and another order, from each provider.
        calls = tool_calls(response)
        if calls:
            self._say({"tool_calls": [{"index": place} | call for place, call in enumerate(calls)]})
        self._say({}, ending)
        if self._with_usage:
            self._waiting.put_nowait(self._completion.usage_chunk(response))
        self._waiting.put_nowait(None)


def _event(document: Json) -> bytes:
    return b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\n\n"
