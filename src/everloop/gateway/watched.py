"""A stream that settles its attempt: at its end from usage, when it breaks or is left at the worst cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic_ai.models import StreamedResponse

from everloop.gateway.answers import cleaned, to_text
from everloop.gateway.failure import AttemptFailed, Failure, Incomplete

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.usage import RequestUsage

    from everloop.gateway.attempt import Attempt


class WatchedStream(StreamedResponse):
    """A provider's stream, its first event read already: until then an attempt can be repeated, after it no more."""

    def __init__(
        self, inner: StreamedResponse, parameters: ModelRequestParameters, attempt: Attempt, deadline: float, name: str
    ) -> None:
        super().__init__(parameters)
        self._inner, self._attempt, self._name = inner, attempt, name
        self._left = deadline - asyncio.get_running_loop().time()
        self._events = aiter(inner)
        self._first: ModelResponseStreamEvent | None = None

    async def start(self) -> None:
        """Read the first event. `AttemptFailed` when there is none."""
        self._first = await self._next()

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        event = self._first
        failure: Failure | None = None
        while event is not None:
            self.final_result_event = self._inner.final_result_event
            yield event
            try:
                event = await self._next()
            except AttemptFailed as failed:
                failure, event = failed.failure, None
        if failure is not None:
            # what was yielded cannot be taken back, so this is the end even of a failure that could be repeated;
            # raised out here, where no context leads back to the request
            raise failure.error(self._name, 1)

    def __aiter__(self) -> AsyncIterator[ModelResponseStreamEvent]:
        """The provider's events as they are: the marks of parts and of the final result are in them."""
        if self._event_iterator is None:
            events = self._get_event_iterator()
            own = self._request_deadline
            self._event_iterator = events if own is None else own.iterate(events)
        return self._event_iterator

    async def _next(self) -> ModelResponseStreamEvent | None:
        """The next event; None once the attempt is settled as a complete answer, or the caller gave it up."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            async with asyncio.timeout_at(begun + self._left):
                return await anext(self._events)
        except StopAsyncIteration:
            await self._ended()
            return None
        except BaseException as error:
            await self._attempt.failed(error)
            raise
        finally:
            self._left -= loop.time() - begun  # a reader's own pauses are not the endpoint's

    async def _ended(self) -> None:
        if self._inner.cancelled:
            return
        response = cleaned(self._inner.get())
        if response.finish_reason is None or response.state != "complete":
            await self._attempt.failed(Incomplete())
        await self._attempt.succeeded(response, to_text(response))

    async def cancel(self) -> None:
        """Leave the stream: the attempt is charged at its worst cost."""
        await self._inner.cancel()

    async def close_stream(self) -> None:
        """Close the connection."""
        await self._inner.close_stream()

    def get(self) -> ModelResponse:
        """The answer so far."""
        return cleaned(self._inner.get())

    def time_to_first_chunk(self, request_start: float) -> float | None:
        """Seconds to the first event."""
        return self._inner.time_to_first_chunk(request_start)

    @property
    def cancelled(self) -> bool:
        """Whether the caller left the stream."""
        return self._inner.cancelled

    @property
    def usage(self) -> RequestUsage:
        """Tokens counted so far."""
        return self._inner.usage

    @property
    def model_name(self) -> str:
        """The model's id at its provider."""
        return self._inner.model_name

    @property
    def provider_name(self) -> str | None:
        """The provider's name."""
        return self._inner.provider_name

    @property
    def provider_url(self) -> str | None:
        """The provider's endpoint."""
        return self._inner.provider_url

    @property
    def timestamp(self) -> datetime:
        """When the answer began."""
        return self._inner.timestamp
