"""The client of a program that waits for each answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from everloop.client import answers, connection
from everloop.client.connection import Connection
from everloop.client.download import Wanted, wanted
from everloop.client.errors import RemoteError
from everloop.client.follow import END_STATUSES, PATIENCE_SECONDS, POLL_SECONDS, Following, Logging, Patience
from everloop.client.job_calls import JobCalls
from everloop.client.operations import Request
from everloop.client.project_calls import ProjectCalls
from everloop.client.renewal import Renewal
from everloop.client.run_calls import RunCalls
from everloop.client.transport import TIMEOUT_SECONDS, Transport
from everloop.events import Json

Missed = Callable[[RemoteError, float], None]
"""Told of a try that failed and of the seconds until the next."""


class Client(RunCalls[Json], JobCalls[Json], ProjectCalls[Json]):
    """A connection to one project of an Everloop server.

    What is not given is found in the environment, in what `el auth` saved, or at the server that `el up` runs here; a
    client of the latter finds it again after a restart, which gives it another key.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        workspace_id: str | None = None,
        project_id: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._begin(connection.resolve(base_url, api_key, workspace_id, project_id), timeout, renews=True)

    @classmethod
    def of(cls, found: Connection, timeout: float = TIMEOUT_SECONDS) -> Self:
        """A client of exactly this connection; nothing is looked up."""
        client = cls.__new__(cls)
        client._begin(found, timeout, renews=False)
        return client

    def _begin(self, found: Connection, timeout: float, *, renews: bool) -> None:
        self._timeout, self._renews = timeout, renews
        self._turned: list[Transport] = []
        self._turn(found)

    def _turn(self, found: Connection) -> None:
        """Ask this server from now on; requests of other threads end at the one they began with."""
        self.connection = found
        self._transport = Transport(found, self._timeout)
        self._turned.append(self._transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        for transport in self._turned:
            transport.close()

    def _send(self, request: Request) -> Json:
        renewal = Renewal(self.connection)
        while True:
            try:
                return answers.whole(self._transport.send(request))
            except RemoteError as error:
                if not self._renews:
                    raise
                found, seconds = renewal.after(error)
            time.sleep(seconds)
            if found != self.connection:
                self._turn(found)

    def runs(self) -> Iterator[Json]:
        """Summary rows of all runs, newest update first."""
        return self._all(lambda cursor: self.list_runs(limit=100, cursor=cursor))

    def jobs(self, *, type: str | None = None, status: str | None = None) -> Iterator[Json]:  # noqa: A002 - the wire's word
        """All jobs, newest first."""
        return self._all(lambda cursor: self.list_jobs(type=type, status=status, limit=100, cursor=cursor))

    def checkpoints(self, *, job_id: str | None = None, run_id: str | None = None) -> Iterator[Json]:
        """All saved checkpoints, newest first."""
        return self._all(lambda cursor: self.list_checkpoints(job_id=job_id, run_id=run_id, limit=100, cursor=cursor))

    def _all(self, page: Callable[[str | None], Json]) -> Iterator[Json]:
        cursor, seen, first = None, set[str](), True
        while first or cursor is not None:
            found, first = page(cursor), False
            yield from answers.items(found)
            cursor = answers.next_cursor(found, seen)

    def follow(
        self,
        run: str,
        *,
        since: int = 0,
        poll_seconds: float = POLL_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        missed: Missed | None = None,
    ) -> Iterator[Json]:
        """Live documents until the run has ended, each event in exactly one of them.

        A server that is away, restarts, or answers 429 or 5xx is asked again, for `patience_seconds`.
        """
        reader, patience = Following(since), Patience(patience_seconds)
        while not reader.ended:
            yield reader.take(self._until(lambda: self.live(run, since=reader.since), patience, missed))
            if reader.waits:
                time.sleep(poll_seconds)

    def follow_log(
        self,
        job_id: str,
        *,
        source: str | None = None,
        tail: int | None = None,
        cursor: str | None = None,
        poll_seconds: float = POLL_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        missed: Missed | None = None,
    ) -> Iterator[Json]:
        """Pages of a job's log until it is complete."""
        reader, patience = Logging(cursor), Patience(patience_seconds)

        def page() -> Json:
            first = tail if reader.cursor is None else None
            return self.job_logs(job_id, source=source, tail=first, limit=1000, cursor=reader.cursor)

        while not reader.ended:
            yield reader.take(self._until(page, patience, missed))
            if reader.waits:
                time.sleep(poll_seconds)

    def wait_job(
        self, job_id: str, *, seconds: float = 600.0, poll_seconds: float = POLL_SECONDS, missed: Missed | None = None
    ) -> Json:
        """The job when it has ended, or as it is after `seconds`."""
        patience, until = Patience(seconds), time.monotonic() + seconds
        while True:
            job = self._until(lambda: self.job(job_id), patience, missed)
            if job.get("status") in END_STATUSES or time.monotonic() >= until:
                return job
            time.sleep(min(poll_seconds, max(0.0, until - time.monotonic())))

    def _until(self, ask: Callable[[], Json], patience: Patience, missed: Missed | None) -> Json:
        while True:
            try:
                found = ask()
            except RemoteError as error:
                seconds = patience.wait(error)
                if missed is not None:
                    missed(error, seconds)
                time.sleep(seconds)
            else:
                patience.answered()
                return found

    def download_checkpoint(
        self, path: str, folder: Path, *, job_id: str | None = None, run_id: str | None = None
    ) -> list[Path]:
        """Fetch a checkpoint's files into a new or empty folder; sizes and SHA-256 are compared before one is named.

        `path` is a checkpoint id or ``envloop://JOB/ID``.
        """
        chosen = wanted(list(self.checkpoints(job_id=job_id, run_id=run_id)), path)
        address = str(chosen.path)
        urls = chosen.urls(self.checkpoint_urls(address, job_id=job_id, run_id=run_id))
        return [self._fetch(chosen, name, url, folder) for name, url in urls.items()]

    def _fetch(self, chosen: Wanted, name: str, url: str, folder: Path) -> Path:
        with self._transport.open(url) as chunks:
            return chosen.save(name, chunks, folder)
