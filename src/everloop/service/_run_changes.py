"""What all changes of a run share: who may, what was sent, one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue
from everloop.service import visibility
from everloop.service.caller import Caller
from everloop.service.fields import fields
from everloop.service.installation import Installation
from everloop.service.permissions import Permission

T = TypeVar("T")

ACTIVE = ("starting", "running", "paused")
"""States in which a run takes steers and directives."""


def may_run(caller: Caller) -> None:
    """AccessDenied unless the caller may start and change runs: it is told of them, so it reads as well."""
    for permission in (Permission.READ, Permission.RUN):
        caller.require(permission)


def may_stop(caller: Caller) -> None:
    """AccessDenied unless the caller may stop runs, which it must be able to change."""
    may_run(caller)
    caller.require(Permission.STOP)


def fields_of(
    installation: Installation,
    run: str,
    document: JsonValue,
    caller: Caller,
    may: Callable[[Caller], None],
    known: tuple[str, ...],
    error: type[InvalidRequest],
) -> Json:
    """The fields of a request on a run: first the permission, then whether the run is there, then what was sent."""
    may(caller)
    with installation.database.read() as tx:
        visibility.require(tx, run, caller)
    return fields(document, known, error)


def written(installation: Installation, use: Callable[[Connection], T]) -> T:
    """What `use` gives, in one transaction; tried again where the database says so or its answer is lost."""

    def whole_transaction() -> T:
        with installation.database.write() as tx:
            return use(tx)

    return installation.database.retrying(whole_transaction)
