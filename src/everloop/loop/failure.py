"""A phase that failed, and what the run does about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from everloop.errors import (
    CapReached,
    CheckpointCorrupt,
    EvaluationFailed,
    EverloopError,
    IncumbentUnavailable,
    JobFailed,
)


class Remedy(StrEnum):
    """What follows a failure."""

    REJECT = "reject"
    """The candidate is at fault: it is rejected as an error, never scored."""
    STOP = "stop"
    """A cap is reached: the run ends cleanly with what it has."""
    PAUSE = "pause"
    """The run's surroundings are at fault: it pauses, and resume goes on at the failed phase."""
    FAIL = "fail"
    """A defect of the loop itself."""


_REMEDIES = {
    CapReached.code: Remedy.STOP,
    CheckpointCorrupt.code: Remedy.REJECT,
    JobFailed.code: Remedy.REJECT,
    EvaluationFailed.code: Remedy.REJECT,
    EverloopError.code: Remedy.FAIL,
}


@contextmanager
def incumbent(what: str) -> Iterator[None]:
    """Whatever goes wrong inside concerns a version the run stands on, not a candidate: the run pauses."""
    try:
        yield
    except (EvaluationFailed, CheckpointCorrupt) as error:
        raise IncumbentUnavailable(
            f"the incumbent could not be {what}", why=error.message, then="Mend it, then resume the run"
        ) from error


class Failure(Exception):
    """Raised by a phase. Not recorded: a replay works the phase again; what was concluded is looked up first."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message

    @property
    def remedy(self) -> Remedy:
        """What the run does about it."""
        return _REMEDIES.get(self.code, Remedy.PAUSE)

    def to_json(self) -> dict[str, str]:
        """The wire envelope."""
        return {"code": self.code, "message": self.message}
