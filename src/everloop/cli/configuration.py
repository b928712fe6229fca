"""Settings as a command reads them: a value that cannot be accepted is an error that names its variable."""

from __future__ import annotations

from pydantic import ValidationError

from everloop.errors import InvalidRequest
from everloop.settings import Settings


def settings() -> Settings:
    """The settings in force. InvalidRequest names the first variable that cannot be accepted."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "EVERLOOP_" + "_".join(str(part) for part in first["loc"]).upper()
        raise InvalidRequest(f"{name} cannot be accepted", why=first["msg"], then="See docs/settings.md") from error
