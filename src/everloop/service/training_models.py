"""What a train job may train: the trainers of this installation that train in a process of their own."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from everloop.errors import Unavailable
from everloop.events import Json
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.pages import Page
from everloop.service.permissions import Permission
from everloop.students.base import TrainSettings
from everloop.students.registry import trainer


def listing(installation: Installation, caller: Caller = LOCAL) -> Page:
    """The base models, each with the settings that a job gets when it names none."""
    caller.require(Permission.READ)
    limit = installation.settings.job_time_limit_seconds
    return Page([_item(name, limit) for name in names()], None)


@cache
def names() -> tuple[str, ...]:
    """Names of the base models, sorted."""
    return tuple(sorted({point.name for point in entry_points(group="everloop.trainers") if _trains(point.name)}))


def defaults(name: str, *, base: bool) -> TrainSettings:
    """Settings of a job that names none; `base`: it starts from fresh weights."""
    return trainer(name).defaults(base=base)


def _trains(name: str) -> bool:
    """Whether it trains as a job. A trainer whose extra is not installed is none of this installation."""
    try:
        can = trainer(name).capabilities()
    except (ImportError, Unavailable):
        return False
    return can.trains and not can.inline


def _item(name: str, seconds: float) -> Json:
    return {
        "base_model": name,
        "name": name,
        "methods": ["sft"],
        "row": {"family": "text", "prompt": "text", "completion": "text", "weight": "positive number, 1 by default"},
        "defaults": {
            "fresh": defaults(name, base=True).to_json(),
            "from_parent": defaults(name, base=False).to_json(),
        },
        "time_limit_seconds": seconds,
    }
