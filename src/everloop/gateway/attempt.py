"""One attempt of a call: its turn, its reservation, and how both end."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from everloop.gateway.base import Account, Answer, Call, Charge
from everloop.gateway.failure import AttemptFailed, failure_of
from everloop.gateway.transport import Sending, sending
from everloop.gateway.whole import whole

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

    from everloop.gateway.line import Line


class Attempt:
    """A context manager: inside it the request may be sent, unless `answer` is there already.

    Whatever happens inside, the slot and the probe are given back and the reservation ends; what is not settled by then
    was left, and is charged at its worst cost if it was sent.
    """

    def __init__(self, line: Line, account: Account, call: Call, worst: Charge) -> None:
        self._line, self._account, self._call, self._worst = line, account, call, worst
        self._probe = False
        self._settled = True
        self._noted = Sending()
        self._use = line.used()
        self.answer: Answer | None = None

    async def __aenter__(self) -> Self:
        self._use.__enter__()
        try:
            return await self._entered()
        except BaseException:
            self._use.__exit__(None, None, None)
            raise

    async def _entered(self) -> Self:
        await self._line.slots.acquire()
        try:
            if self._line.rate is not None:
                await self._line.rate.acquire()
            self._probe = self._line.breaker.enter()
            try:
                self.answer = await whole(self._account.begin(self._call, self._worst), self._unclaimed)
            except BaseException:
                self._line.breaker.release(self._probe)
                raise
        except BaseException:
            self._line.slots.release()
            raise
        self._settled = self.answer is not None
        sending.set(self._noted)
        return self

    async def _unclaimed(self, answer: Answer | None) -> None:
        """Give back what was reserved for a caller that was cancelled meanwhile."""
        if answer is None:
            await self._account.end(self._call, Charge(0, 0), None)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._settled:
                await self._end(self._worst if self._noted.sent else Charge(0, 0))
        finally:
            self._line.breaker.release(self._probe)
            self._line.slots.release()
            self._use.__exit__(None, None, None)

    async def succeeded(self, response: ModelResponse, text: str, *, free: bool = False) -> None:
        """Settle with what the answer cost and journal it. Without a whole count of tokens it cost the worst."""
        self._line.breaker.succeeded()
        cost = 0 if free else self._line.price.cost(response.usage) if _counted(response) else None
        await self._end(self._worst if cost is None else Charge(cost, self._worst.requests), text)

    async def failed(self, error: BaseException) -> None:
        """Settle a failure of the endpoint, and raise it as `AttemptFailed`; any other error is left to the caller."""
        line = self._line
        failure = failure_of(error, self._noted.sent, line.key, line.limits.deadline_seconds)
        if failure is None:
            return
        if failure.broken:
            line.breaker.failed()
        elif not failure.again:
            line.breaker.succeeded()  # an endpoint that refuses is there
            line.stale |= failure.status in {401, 403}
        await self._end(failure.charge(self._worst))
        raise AttemptFailed(failure) from None

    async def _end(self, cost: Charge, response: str | None = None) -> None:
        """Settle; what cannot be written stays unsettled, so that leaving the attempt tries once more."""
        await whole(self._account.end(self._call, cost, response))
        self._settled = True


def _counted(response: ModelResponse) -> bool:
    """Whether the count of output tokens can be true: some for an answer that says something, reasoning among them."""
    said = any(getattr(part, "content", None) or getattr(part, "args", None) for part in response.parts)
    thought = response.usage.details.get("reasoning_tokens", 0)
    return (response.usage.output_tokens > 0 or not said) and thought <= response.usage.output_tokens
