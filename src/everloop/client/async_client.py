"""The client of a program that does other things meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

from everloop.client import answers, connection
from everloop.client.client import Missed
from everloop.client.connection import Connection
from everloop.client.errors import RemoteError
from everloop.client.follow import PATIENCE_SECONDS, POLL_SECONDS, Following, Patience
from everloop.client.job_calls import JobCalls
from everloop.client.operations import Request
from everloop.client.project_calls import ProjectCalls
from everloop.client.renewal import Renewal
from everloop.client.run_calls import RunCalls
from everloop.client.transport import TIMEOUT_SECONDS, AsyncTransport
from everloop.events import Json


class AsyncClient(RunCalls[Awaitable[Json]], JobCalls[Awaitable[Json]], ProjectCalls[Awaitable[Json]]):
    """`Client`, with methods to be awaited."""

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        workspace_id: str | None = None,
        project_id: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._timeout = timeout
        self._turned: list[AsyncTransport] = []
        self._turn(connection.resolve(base_url, api_key, workspace_id, project_id))

    def _turn(self, found: Connection) -> None:
        """Ask this server from now on; requests under way end at the one they began with."""
        self.connection = found
        self._transport = AsyncTransport(found, self._timeout)
        self._turned.append(self._transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        for transport in self._turned:
            await transport.close()

    async def _send(self, request: Request) -> Json:
        renewal = Renewal(self.connection)
        while True:
            try:
                return answers.whole(await self._transport.send(request))
            except RemoteError as error:
                found, seconds = renewal.after(error)
            await asyncio.sleep(seconds)
            if found != self.connection:
                self._turn(found)

    def runs(self) -> AsyncIterator[Json]:
        """Summary rows of all runs, newest update first."""
        return self._all(lambda cursor: self.list_runs(limit=100, cursor=cursor))

    def jobs(self, *, type: str | None = None, status: str | None = None) -> AsyncIterator[Json]:  # noqa: A002 - the wire's word
        """All jobs, newest first."""
        return self._all(lambda cursor: self.list_jobs(type=type, status=status, limit=100, cursor=cursor))

    def checkpoints(self, *, job_id: str | None = None, run_id: str | None = None) -> AsyncIterator[Json]:
        """All saved checkpoints, newest first."""
        return self._all(lambda cursor: self.list_checkpoints(job_id=job_id, run_id=run_id, limit=100, cursor=cursor))

    async def _all(self, page: Callable[[str | None], Awaitable[Json]]) -> AsyncIterator[Json]:
        cursor, seen, first = None, set[str](), True
        while first or cursor is not None:
            found, first = await page(cursor), False
            for one in answers.items(found):
                yield one
            cursor = answers.next_cursor(found, seen)

    async def follow(
        self,
        run: str,
        *,
        since: int = 0,
        poll_seconds: float = POLL_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        missed: Missed | None = None,
    ) -> AsyncIterator[Json]:
        """Live documents until the run has ended, each event in exactly one of them; see `Client.follow`."""
        reader, patience = Following(since), Patience(patience_seconds)
        while not reader.ended:
            yield reader.take(await self._until(lambda: self.live(run, since=reader.since), patience, missed))
            if reader.waits:
                await asyncio.sleep(poll_seconds)

    async def _until(self, ask: Callable[[], Awaitable[Json]], patience: Patience, missed: Missed | None) -> Json:
        while True:
            try:
                found = await ask()
            except RemoteError as error:
                seconds = patience.wait(error)
                if missed is not None:
                    missed(error, seconds)
                await asyncio.sleep(seconds)
            else:
                patience.answered()
                return found
