"""A verdict on a rejected candidate that is named by its path."""

from __future__ import annotations

from everloop.events import Json, JsonValue
from everloop.service import samples, visibility
from everloop.service.caller import Caller
from everloop.service.fields import fields
from everloop.service.installation import Installation
from everloop.service.permissions import Permission


def judge(installation: Installation, run: str, candidate: str, document: JsonValue, caller: Caller) -> Json:
    """Judge from the JSON of a request: ``{"good", "reason"?}``; first the permission, then the run, then the body."""
    caller.require(Permission.APPROVE)
    with installation.database.read() as tx:
        visibility.require(tx, run, caller)
    given = fields(document, ("good", "reason"))
    return samples.judge(installation, run, candidate, given.get("good"), given.get("reason"), caller)
