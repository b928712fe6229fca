"""Settings as a command reads them: a value that cannot be accepted is an error that names its variable."""

from __future__ import annotations

from pydantic import ValidationError

from everloop.errors import InvalidRequest
from everloop.settings import Settings


def settings(*, host: str | None = None, port: int | None = None) -> Settings:
    """The settings in force, with what an option names in place of a variable.

    InvalidRequest names the first variable that cannot be accepted.
    """
    try:
        found = Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "EVERLOOP_" + "_".join(str(part) for part in first["loc"]).upper()
        raise InvalidRequest(f"{name} cannot be accepted", why=first["msg"], then="See docs/settings.md") from error
    named = {"host": host, "port": port}
    return found.model_copy(update={name: value for name, value in named.items() if value is not None})
