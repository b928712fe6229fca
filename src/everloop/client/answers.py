"""Reading what a server answered; the same for both clients."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from everloop.client.errors import InvalidAnswer, RemoteError, refusal
from everloop.events import Json, JsonValue

MOST_BYTES = 16 * 1024 * 1024
"""Longest answer that is read."""
ENVELOPE_BYTES = 8192
"""Longest error envelope that is read."""
RETRY_AFTER = 60.0
"""Longest wait, in seconds, that a server may ask for."""
_CODE = re.compile(r"[A-Z0-9_]{1,128}")


def read(status: int, headers: Mapping[str, str], body: bytes) -> JsonValue:
    """The JSON of an answer: None for an empty one, an empty object for 204.

    RemoteError for any status but 2xx, redirects included.
    """
    if not 200 <= status < 300:
        raise _refused(status, headers, body)
    if not body:
        return {} if status == 204 else None
    try:
        document: JsonValue = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer("the answer is no JSON", then="Check the base URL", http=status) from error
    return document


def whole(document: JsonValue) -> Json:
    """An answer that must be an object."""
    if not isinstance(document, dict):
        raise InvalidAnswer("the answer is no JSON object", then="Check the base URL")
    return document


def items(page: Json) -> list[Json]:
    """The objects of a page."""
    found = page.get("items")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InvalidAnswer("the page has no list of items")
    return [one for one in found if isinstance(one, dict)]


def next_cursor(page: Json, seen: set[str]) -> str | None:
    """Where the next page begins; None at the end. InvalidAnswer for one that came before: it would never end."""
    found = page.get("next_cursor")
    if found is None:
        return None
    if not isinstance(found, str) or found in seen:
        raise InvalidAnswer("the list does not end: a cursor came twice or is no text")
    seen.add(found)
    return found


def too_long(status: int) -> RemoteError:
    """The error of an answer that is longer than `MOST_BYTES`."""
    return InvalidAnswer("the answer is too long", http=status)


def _refused(status: int, headers: Mapping[str, str], body: bytes) -> RemoteError:
    code, message = _envelope(body)
    return refusal(status, code, message, retry_after(headers.get("retry-after")))


def _envelope(body: bytes) -> tuple[str | None, str]:
    if len(body) > ENVELOPE_BYTES:
        return None, ""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None, ""
    code, message = (found.get("code"), found.get("message")) if isinstance(found, dict) else (None, None)
    known = isinstance(code, str) and _CODE.fullmatch(code) is not None
    return (code if known else None), (message if isinstance(message, str) else "")


def retry_after(value: str | None) -> float | None:
    """Seconds that ``Retry-After`` asks for, at most `RETRY_AFTER`; None when it is absent or no time."""
    if value is None:
        return None
    text = value.strip()
    try:
        if text.isascii() and text.isdecimal():
            seconds = float(text)
        else:
            until = parsedate_to_datetime(text)
            seconds = ((until if until.tzinfo else until.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), RETRY_AFTER) if math.isfinite(seconds) else None
