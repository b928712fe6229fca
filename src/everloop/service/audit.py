"""The audit log: one row for each change, and for each refusal of one."""

from __future__ import annotations

from sqlalchemy import Connection

from everloop.errors import InvalidCursor
from everloop.events import Json, JsonValue
from everloop.fields import line
from everloop.service._transactions import reading, writing
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.pages import Page, Place, checked_limit, page, place_of
from everloop.service.permissions import Permission
from everloop.store import audit
from everloop.store.audit import AuditRow, Entry


def record(
    installation: Installation,
    *,
    caller: Caller | None,
    surface: str,
    action: str,
    target: str | None,
    status: int,
    code: str | None,
    request_id: str | None,
    address: str | None,
) -> None:
    """Add a row; texts are cut to their columns and lose what cannot be printed. Give it no secret.

    `caller`: None when nobody was known.
    """
    entry = Entry(
        workspace_id=None if caller is None else _text(caller.workspace_id, 128) or None,
        project_id=None if caller is None else _text(caller.project_id, 128) or None,
        subject=None if caller is None else _text(caller.subject, 256),
        surface=surface[:16],
        action=_text(action, 128) or "",
        target=_text(target, 256),
        status=status,
        code=_text(code, 128),
        request_id=_text(request_id, 64),
        address=_text(address, 64),
    )
    writing(installation, lambda tx: audit.add(tx, entry))


def pages(
    installation: Installation,
    caller: Caller,
    limit: JsonValue = None,
    cursor: str | None = None,
    project_id: str | None = None,
) -> Page:
    """Rows of the caller's project, newest first.

    This machine's account sees those of a named project, or all, and then also those where nobody was known.
    """
    caller.require(Permission.MANAGE)
    most, before = checked_limit(limit), _before(place_of(cursor, 1))
    project = project_id if caller.sees_all else caller.project_id

    def read(tx: Connection) -> list[AuditRow]:
        return audit.listing(tx, project, before, most + 1)

    return page(reading(installation, read), most, lambda row: (str(row.id),), row_json)


def row_json(row: AuditRow) -> Json:
    """A row as a document."""
    return {name: getattr(row, name) for name in ("id", "at", *Entry.__dataclass_fields__)}


def _before(place: Place | None) -> int | None:
    if place is None:
        return None
    (text,) = place
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise InvalidCursor("this cursor is not of this list", then="Begin again without one")
    return int(text)


def _text(value: str | None, most: int) -> str | None:
    """What a column takes: printable, and no longer than it is."""
    return None if value is None else line(value)[:most]
