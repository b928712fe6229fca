"""The one error tree.

Every error has a stable ``code`` (what programs tell apart), an HTTP ``status`` and builds its own message out of three
parts: what happened, why, and what to do next.
"""

from __future__ import annotations

from typing import ClassVar


class EverloopError(Exception):
    """Base of every error this package raises on purpose."""

    code: ClassVar[str] = "INTERNAL_SERVER_ERROR"
    status: ClassVar[int] = 500

    def __init__(self, what: str, *, why: str = "", then: str = "") -> None:
        self.what, self.why, self.then = what, why, then
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """What happened, why, and what next, in one line of text."""
        text = self.what if not self.why else f"{self.what}: {self.why}"
        return text if not self.then else f"{text}. {self.then}"

    def to_json(self) -> dict[str, str]:
        """The wire envelope ``{"code", "message"}``."""
        return {"code": self.code, "message": self.message}


class Unauthorized(EverloopError):
    """No key or session, or one that is not known, has expired or was revoked."""

    code = "UNAUTHORIZED"
    status = 401


class AccessDenied(EverloopError):
    """A caller without the permission that the call needs."""

    code = "ACCESS_DENIED"
    status = 403


class ProjectAccessDenied(AccessDenied):
    """A call that names a workspace or project other than the caller's own."""

    code = "PROJECT_ACCESS_DENIED"


class ProviderUnavailable(EverloopError):
    """An identity provider that cannot be reached, or does not answer as OpenID Connect says."""

    code = "SIGN_IN_UNAVAILABLE"
    status = 503


class GrantExpired(EverloopError):
    """A command line's sign-in on which nobody decided in time."""

    code = "AUTH_LOGIN_EXPIRED"
    status = 410


class NotFound(EverloopError):
    """No such route or thing, or none that the caller may see."""

    code = "NOT_FOUND"
    status = 404


class MethodNotAllowed(EverloopError):
    """A route that does not take this method."""

    code = "METHOD_NOT_ALLOWED"
    status = 405


class TooLarge(EverloopError):
    """A body longer than its route takes."""

    code = "PAYLOAD_TOO_LARGE"
    status = 413


class RateLimited(EverloopError):
    """More calls in a minute than one key, session or address may make."""

    code = "RATE_LIMITED"
    status = 429

    def __init__(self, what: str, *, why: str = "", then: str = "", retry_after: int = 1) -> None:
        super().__init__(what, why=why, then=then)
        self.retry_after = retry_after


class InvalidRequest(EverloopError):
    """A start, limit or setting that cannot be accepted."""

    code = "INVALID_RSI_REQUEST"
    status = 422


class InvalidSteer(InvalidRequest):
    """A steer whose text is empty or longer than 4000 characters."""

    code = "INVALID_STEER"


class InvalidDirective(InvalidRequest):
    """A directive whose text is empty or longer than 4000 characters."""

    code = "INVALID_DIRECTIVE"


class InvalidLimit(InvalidRequest):
    """A page size outside 1..100."""

    code = "INVALID_LIMIT"


class InvalidCursor(InvalidRequest):
    """A cursor that no page of this list gave."""

    code = "INVALID_CURSOR"


class InvalidTrainJobSpec(InvalidRequest):
    """A train job that cannot be carried out: unknown base model, no rows, bad settings."""

    code = "INVALID_TRAIN_JOB_SPEC"


class InvalidTrainJobMetadata(InvalidRequest):
    """Labels of a train job that are no short texts."""

    code = "INVALID_TRAIN_JOB_METADATA"


class InvalidRequestId(InvalidRequest):
    """A request id that is not 1..128 printable characters."""

    code = "INVALID_REQUEST_ID"


class RunNotFound(NotFound):
    """No such run, or none that the caller may see."""

    code = "RSI_RUN_NOT_FOUND"


class JobNotFound(NotFound):
    """No such job, or none that the caller may see."""

    code = "JOB_NOT_FOUND"


class CheckpointNotFound(NotFound):
    """No such checkpoint, or none that the caller may see."""

    code = "CHECKPOINT_NOT_FOUND"


class Conflict(EverloopError):
    """The state of the run does not allow the request, or its name is taken."""

    code = "RSI_CONFLICT"
    status = 409


class StateConflict(EverloopError):
    """The state of a job, key, member or approval does not allow the request."""

    code = "CONFLICT"
    status = 409


class ApprovalNeeded(EverloopError):
    """A certification under a soft verifier that a person has not decided on yet; the run pauses."""

    code = "APPROVAL_NEEDED"
    status = 409


class IdempotencyConflict(StateConflict):
    """A request id that was used for another request."""

    code = "TRAIN_JOB_IDEMPOTENCY_CONFLICT"


class RunNotActive(Conflict):
    """A steer for a run that has ended."""

    code = "RSI_RUN_NOT_ACTIVE"


class RunUnreadable(Conflict):
    """A run whose record in the database makes no sense to this release."""

    code = "RUN_UNREADABLE"


class SupplyExhausted(InvalidRequest):
    """A protocol that could use more distinct items than a family has."""


class CapReached(EverloopError):
    """A reservation that would pass a cap. Nothing was reserved."""

    code = "CAP_REACHED"
    status = 409


class ModelNotConfigured(InvalidRequest):
    """A model that is not configured, has no key, or has no known price; refused before anything is sent."""

    code = "MODEL_NOT_CONFIGURED"


class ModelUnavailable(EverloopError):
    """A model that does not answer: retries are used up, its circuit is open, its endpoint cannot be reached."""

    code = "MODEL_UNAVAILABLE"
    status = 503


class ModelRefused(EverloopError):
    """A request that a model's endpoint refuses and would refuse again: bad key, bad request, unknown model."""

    code = "MODEL_REFUSED"
    status = 502

    def __init__(self, what: str, *, why: str = "", then: str = "", upstream: int | None = None) -> None:
        super().__init__(what, why=why, then=then)
        self.upstream = upstream

    @property
    def of_request(self) -> bool:
        """Whether it is this very request that the endpoint does not take; else no request would fare better."""
        return self.upstream in {400, 413, 422}


class StaleWorker(EverloopError):
    """A write by a worker whose epoch was fenced off; another one has its work."""

    code = "STALE_WORKER"
    status = 409


class StoreUnavailable(EverloopError):
    """The database cannot be reached, is locked, or is not migrated."""

    code = "SERVICE_UNAVAILABLE"
    status = 503


class StorageFull(EverloopError):
    """A file could not be written because no room is left."""

    code = "STORAGE_FULL"
    status = 507


class CheckpointCorrupt(EverloopError):
    """A checkpoint whose bytes do not match its manifest."""

    code = "CHECKPOINT_CORRUPT"


class JobFailed(EverloopError):
    """A job that ended without its result: crash, hang, NaN, lost machine."""

    code = "JOB_FAILED"


class BindingMismatch(Conflict):
    """A job id that is already bound to a different request."""

    code = "JOB_REQUEST_CONFLICT"


class EvaluationFailed(EverloopError):
    """A measurement that did not happen. Never a score."""

    code = "EVALUATION_FAILED"


class JudgeDisagrees(EverloopError):
    """A judge that disagrees with its gold items beyond its bound; the run fails closed."""

    code = "JUDGE_DISAGREES"


class Unavailable(EverloopError):
    """An optional part (an extra, a plug-in) that is not installed."""

    code = "UNAVAILABLE"
    status = 501


class IncumbentUnavailable(EvaluationFailed):
    """The working head or the certified version could not be measured; the run pauses."""

    code = "INCUMBENT_UNAVAILABLE"
