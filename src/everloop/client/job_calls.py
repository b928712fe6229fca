"""Methods about train jobs, their trials and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping

from everloop.client.calls import Answer, Calls
from everloop.client.operations import checked
from everloop.events import Json, JsonValue


class JobCalls(Calls[Answer]):
    """Train jobs: submit, look, stop; what they left."""

    def list_jobs(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the wire's word
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """A page of jobs, newest first."""
        return self._call("list_jobs", type=type, status=status, limit=limit, cursor=cursor)

    def submit_job(self, document: Mapping[str, JsonValue]) -> Answer:
        """Submit a train job; the same ``request_id`` and body give the same job again."""
        return self._call("submit_job", document=checked(dict(document)))

    def job(self, job_id: str) -> Answer:
        """One job."""
        return self._call("job", job_id=job_id)

    def job_result(self, job_id: str) -> Answer:
        """What a job came to."""
        return self._call("job_result", job_id=job_id)

    def job_logs(
        self,
        job_id: str,
        *,
        source: str | None = None,
        tail: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """A page of a job's log; `tail` (the last records) or `cursor`, not both."""
        return self._call("job_logs", job_id=job_id, source=source, tail=tail, limit=limit, cursor=cursor)

    def stop_job(self, job_id: str) -> Answer:
        """Stop a submitted job."""
        return self._call("stop_job", job_id=job_id)

    def training_models(self) -> Answer:
        """Base models a train job may name."""
        return self._call("training_models")

    def list_checkpoints(
        self,
        *,
        train_job_id: str | None = None,
        job_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """A page of saved checkpoints, newest first."""
        given: Json = {"train_job_id": train_job_id, "job_id": job_id, "run_id": run_id}
        return self._call("list_checkpoints", **given, limit=limit, cursor=cursor)

    def checkpoint_urls(self, path: str, *, job_id: str | None = None, run_id: str | None = None) -> Answer:
        """Addresses of a checkpoint's files, which need no key and hold for minutes; `path` is ``envloop://JOB/ID``."""
        return self._call("checkpoint_urls", path=path, job_id=job_id, run_id=run_id)

    def delete_checkpoint(self, checkpoint_id: str) -> Answer:
        """Delete a checkpoint that nothing refers to."""
        return self._call("delete_checkpoint", checkpoint_id=checkpoint_id)

    def list_trials(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the wire's word
        job_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """A page of trials, newest first."""
        return self._call("list_trials", type=type, job_id=job_id, limit=limit, cursor=cursor)

    def trial(self, trial_id: str) -> Answer:
        """One trial."""
        return self._call("trial", trial_id=trial_id)

    def trial_result(self, trial_id: str) -> Answer:
        """What a trial came to."""
        return self._call("trial_result", trial_id=trial_id)

    def trial_snapshot(self, trial_id: str) -> Answer:
        """How far a trial is."""
        return self._call("trial_snapshot", trial_id=trial_id)

    def trial_artifacts(self, trial_id: str, *, limit: int | None = None, cursor: str | None = None) -> Answer:
        """A page of a trial's files."""
        return self._call("trial_artifacts", trial_id=trial_id, limit=limit, cursor=cursor)

    def stop_trial(self, trial_id: str) -> Answer:
        """Stop a trial, and with it its job."""
        return self._call("stop_trial", trial_id=trial_id)
