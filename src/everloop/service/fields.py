"""The fields of a request's JSON body, before each is looked at."""

from __future__ import annotations

from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue


def fields(document: JsonValue, known: tuple[str, ...], error: type[InvalidRequest] = InvalidRequest) -> Json:
    """The body, if it is an object of none but these keys. `error` names the first that is not known."""
    if not isinstance(document, dict):
        raise error("the body must be a JSON object", then=f"Send {', '.join(known)}")
    unknown = sorted(set(document) - set(known))
    if unknown:
        raise error(f"{unknown[0]:.80} is not known", then=f"Known: {', '.join(known)}")
    return document


def text(document: Json, name: str, default: str | None = None) -> str:
    """A field that is text; `default` where it is left out or null, InvalidRequest where there is none."""
    value = document.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be text", why=f"got {value!r:.80}")
    return value
