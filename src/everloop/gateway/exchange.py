"""One call, however many attempts it takes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import CompletedStreamedResponse, StreamedResponse

from everloop.gateway.answers import cleaned, from_text, to_text
from everloop.gateway.attempt import Attempt
from everloop.gateway.failure import AttemptFailed
from everloop.gateway.watched import WatchedStream

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestParameters

    from everloop.gateway.base import Account, Call, Charge
    from everloop.gateway.line import Line

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call on a line, paid by an account."""

    line: Line
    """To the model."""
    account: Account
    """Pays, and keeps the answer."""
    call: Call
    """What is asked."""
    worst: Charge
    """What one attempt may cost."""

    async def answer(self, send: Callable[[], Awaitable[ModelResponse]], *, free: bool = False) -> ModelResponse:
        """The answer: the journalled one, or that of the first attempt that succeeds."""

        if (known := await self.account.known(self.call)) is not None:
            return from_text(known.response)

        async def attempt() -> ModelResponse:
            async with Attempt(self.line, self.account, self.call, self.worst) as one:
                if one.answer is not None:
                    return from_text(one.answer.response)
                try:
                    async with asyncio.timeout(self.line.limits.deadline_seconds):
                        response = cleaned(await send())
                except BaseException as error:
                    await one.failed(error)
                    raise
                await one.succeeded(response, to_text(response), free=free)
                return response

        return await self._persist(attempt)

    async def stream(
        self,
        open_stream: Callable[[], AbstractAsyncContextManager[StreamedResponse]],
        parameters: ModelRequestParameters,
        held: AsyncExitStack,
    ) -> StreamedResponse:
        """A stream whose first event has arrived; `held` keeps its attempt open until the caller is done with it."""

        if (known := await self.account.known(self.call)) is not None:
            return _replayed(from_text(known.response), parameters)

        async def attempt() -> StreamedResponse:
            async with AsyncExitStack() as stack:
                one = await stack.enter_async_context(Attempt(self.line, self.account, self.call, self.worst))
                if one.answer is not None:
                    return _replayed(from_text(one.answer.response), parameters)
                deadline = asyncio.get_running_loop().time() + self.line.limits.deadline_seconds
                try:
                    async with asyncio.timeout_at(deadline):
                        inner = await stack.enter_async_context(open_stream())
                except BaseException as error:
                    await one.failed(error)
                    raise
                watched = WatchedStream(inner, parameters, one, deadline, self.call.model)
                await watched.start()
                held.push_async_exit(stack.pop_all())
                return watched

        return await self._persist(attempt)

    async def _persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Attempts until one succeeds, no other may fare better, or none is left."""
        with self.line.used():
            return await self._attempts(attempt)

    async def _attempts(self, attempt: Callable[[], Awaitable[T]]) -> T:
        limits = self.line.limits
        for number in count(1):
            try:
                return await attempt()
            except AttemptFailed as failed:
                failure = failed.failure
            too_long = (failure.wait or 0) > limits.retry_after_seconds
            if not failure.again or too_long or number > limits.retries:
                break
            least = max(failure.wait or 0, limits.backoff_seconds * 2 ** (number - 1))
            await asyncio.sleep(least * (1 + 0.25 * random.random()))  # noqa: S311 - spreads retries, guards nothing
        raise failure.error(self.call.model, number)


def _replayed(response: ModelResponse, parameters: ModelRequestParameters) -> StreamedResponse:
    return CompletedStreamedResponse(response, model_request_parameters=parameters, replay_events=True)
