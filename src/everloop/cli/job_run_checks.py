"""What a start may hold, checked before it is sent: a server's refusal is shown without its own words."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue

RUN = re.compile(r"[a-z0-9-]{1,64}")
"""Ids of runs."""
BRIEF = 4000
"""Most characters of a brief."""
OPTIONS = ("seed", "operator", "trainer", "gate", "launcher", "auditors", "operator_model", "auditor_model")
"""Keys of ``options``; these three are `everloop.service.request`'s, whose loading takes a second."""
_OWN = ("model_usd_cap", "usd_cap", "model_request_cap")
"""Limits with an option of their own."""


def check(asked: Json) -> None:
    """A usage error that names the option whose value no server accepts."""
    from everloop.guard.limits import Goal, Limits, Stop

    _run(str(asked["run"]))
    text(str(asked["brief"]), "--brief")
    _options(asked)
    bounds: tuple[tuple[str, Callable[[JsonValue], object]], ...] = (
        ("limits", Limits.from_json),
        ("goal", Goal.from_json),
        ("stop", Stop.from_json),
    )
    for name, read in bounds:
        if name in asked:
            _bound(asked[name], read)


def text(value: str, option: str) -> None:
    """A usage error unless it is 1 to 4000 characters that are not all blank."""
    if not value.strip():
        raise _wrong(option, "it is blank; give 1 to 4000 characters")
    if len(value) > BRIEF:
        raise _wrong(option, f"it has {len(value)} characters; at most {BRIEF} are taken")


def _run(run: str) -> None:
    if not RUN.fullmatch(run):
        raise _wrong("RUN", "a run's id is 1 to 64 lowercase letters, digits and dashes, such as arith-carry-1")


def _options(asked: Json) -> None:
    given = asked.get("options")
    given = given if isinstance(given, dict) else {}
    for name in given:
        if name not in OPTIONS:
            raise _wrong("--option", f"{name!r} is not known; known: {', '.join(OPTIONS)}")
    if asked.get("dry_run") and "trainer" in given:
        raise _wrong("--option trainer", "a dry run trains nothing; leave it out")
    seed = given.get("seed", 0)
    if not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise _wrong("--option seed", f"it must be a whole number from 0 to {2**31 - 1}")


def _bound(given: JsonValue, read: Callable[[JsonValue], object]) -> None:
    try:
        read(given)
    except InvalidRequest as error:
        # its words begin with the field: limits.dev_n, goal.target, stop.patience
        field, _, rest = error.message.partition(" ")
        raise _wrong(_option(field), rest) from error


def _option(field: str) -> str:
    kind, _, name = field.partition(".")
    if kind == "stop":
        return f"--stop-{name.replace('_', '-')}"
    if kind == "goal":
        return "--goal"
    return f"--{name.replace('_', '-')}" if name in _OWN else f"--limit {name}"


def _wrong(option: str, why: str) -> click.BadParameter:
    return click.BadParameter(why, param_hint=f"'{option}'")
