"""Methods about runs, approvals and the sample of rejected candidates."""

from __future__ import annotations

from collections.abc import Mapping

from everloop.client.calls import Answer, Calls
from everloop.client.operations import checked
from everloop.events import JsonValue


class RunCalls(Calls[Answer]):
    """Runs: start, look, steer, control; what waits for a person."""

    def list_runs(self, *, limit: int | None = None, cursor: str | None = None) -> Answer:
        """A page of summary rows, newest update first."""
        return self._call("list_runs", limit=limit, cursor=cursor)

    def start_run(self, document: Mapping[str, JsonValue]) -> Answer:
        """Start a run; `document` holds at least ``run``, ``brief`` and ``limits.model_usd_cap``."""
        return self._call("start_run", document=checked(dict(document)))

    def run(self, run: str, *, compact: bool = False) -> Answer:
        """The run document, or its summary row."""
        return self._call("run", run=run, compact=compact or None)

    def round(self, run: str, number: int) -> Answer:
        """One round with everything."""
        return self._call("round", run=run, number=number)

    def history(self, run: str) -> Answer:
        """What a run's pictures are drawn from: money and time of its rounds, looks of its newest comparison."""
        return self._call("history", run=run)

    def live(self, run: str, *, since: int | None = None) -> Answer:
        """What the run does now, with the first 200 events after `since`, or the newest 200."""
        return self._call("live", run=run, since=since)

    def steer(self, run: str, text: str) -> Answer:
        """Queue a message of 1 to 4000 characters for the running operator."""
        return self._call("steer", run=run, text=text)

    def directive(self, run: str, text: str) -> Answer:
        """Append a standing instruction of 1 to 4000 characters."""
        return self._call("directive", run=run, text=text)

    def control(self, run: str, action: str, *, rounds: int | None = None) -> Answer:
        """``stop`` after the current round, ``resume``, or ``extend`` to `rounds`."""
        return self._call("control", run=run, action=action, rounds=rounds)

    def list_approvals(
        self, *, state: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Answer:
        """A page of approvals, newest first; `state` is pending, approved or rejected."""
        return self._call("list_approvals", state=state, limit=limit, cursor=cursor)

    def approval(self, approval_id: str) -> Answer:
        """An approval with the figures that a decision can rest on."""
        return self._call("approval", approval_id=approval_id)

    def decide_approval(self, approval_id: str, decision: str, reason: str | None = None) -> Answer:
        """``approve`` or ``reject``, once; the run that waits goes on by itself."""
        return self._call("decide_approval", approval_id=approval_id, decision=decision, reason=reason)

    def samples(self, *, week: str | None = None) -> Answer:
        """The sample of rejected candidates of an ISO week (``2026-W48``), or of the last full one."""
        return self._call("samples", week=week)

    def judge_sample(self, run: str, candidate: str, good: bool, reason: str | None = None) -> Answer:
        """Say whether a rejected candidate was worth keeping."""
        return self._call("judge_sample", run=run, candidate=candidate, good=good, reason=reason)
