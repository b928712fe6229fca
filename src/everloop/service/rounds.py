"""Earlier rounds of a run than the run document has, a page at a time."""

from __future__ import annotations

from everloop.events import Json
from everloop.service import unreadable, visibility
from everloop.service.caller import LOCAL, Caller
from everloop.service.document import round_documents
from everloop.service.installation import Installation
from everloop.service.permissions import Permission
from everloop.store import rounds


def upto(installation: Installation, run: str, last: int, most: int, caller: Caller = LOCAL) -> list[Json]:
    """At most `most` rounds up to round `last`, oldest first, each with everything; RunNotFound for an unknown run."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        row = visibility.require(tx, run, caller)
        with unreadable.refused(run):
            return round_documents(tx, row.run, rounds.newest(tx, run, most, last=last))
