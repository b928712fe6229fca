"""What the client raises: the errors of the one tree, by the code a server answered, each also a `RemoteError`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from everloop.errors import EverloopError

HTTP_ERROR = "HTTP_ERROR"
"""Code of an answer that is no envelope of this API."""


class RemoteError(EverloopError):
    """A request that a server refused, or that did not get through.

    ``message`` is the server's own: it may repeat what was sent. Programs tell errors apart by ``code``.
    """

    code = HTTP_ERROR

    def __init__(self, what: str, *, then: str = "", http: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(what, then=then)
        self.http, self.retry_after = http, retry_after

    @property
    def passing(self) -> bool:
        """Whether the same request may well succeed a little later: nothing answered, or 429 or 5xx did."""
        return self.http is None or self.http == 429 or self.http in {500, 502, 503, 504}


class Unreachable(RemoteError):
    """A server that did not answer: refused, timed out, or cut off in the middle."""

    code = "NETWORK_ERROR"
    status = 503

    def __init__(self, what: str, *, then: str = "", refused: bool = False) -> None:
        super().__init__(what, then=then)
        self.refused = refused
        """Whether there was no connection at all, so that the request was certainly not carried out."""


class InvalidAnswer(RemoteError):
    """An answer that is no JSON, too long, or not of the shape that the contract has."""

    code = "INVALID_RESPONSE"
    status = 502

    @property
    def passing(self) -> bool:
        """No: the same would come again."""
        return False


def refusal(http: int, code: str | None, message: str, retry_after: float | None) -> RemoteError:
    """The error of an answer; its class is both `RemoteError` and the one of the tree that has the code, if any."""
    return _of(code or HTTP_ERROR)(message or f"the server answered {http}", http=http, retry_after=retry_after)


@cache
def _of(code: str) -> type[RemoteError]:
    known = _kinds().get(code)
    if known is None:
        return type("RemoteError", (RemoteError,), {"code": code, "__doc__": RemoteError.__doc__})
    return type(known.__name__, (RemoteError, known), {"code": code, "status": known.status, "__doc__": known.__doc__})


@cache
def _kinds() -> dict[str, type[EverloopError]]:
    """Code -> the widest class of the tree that has it."""
    found: dict[str, type[EverloopError]] = {}
    for kind in _below(EverloopError):
        if kind.__module__ == EverloopError.__module__:
            found.setdefault(kind.code, kind)
    return found


def _below(kind: type[EverloopError]) -> Iterator[type[EverloopError]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from _below(inner)
