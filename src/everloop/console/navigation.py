"""The frame around a project's pages: where one is, where one can go, as whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from everloop.console.addresses import asked_path, group_path
from everloop.language.vocabulary import N_
from everloop.service.groups import GROUPS
from everloop.service.permissions import Permission
from everloop.service.person import Person, person_of

if TYPE_CHECKING:
    from everloop.console.visits import Visit

Crumb = tuple[str, str | None]
"""What a page is called, and its path; None: the page that is shown."""

NAMES = {
    "model": N_("Model"),
    "infra": N_("Infra"),
    "harness": N_("Harness"),
    "data": N_("Data"),
    "search": N_("Search"),
}
"""Group of runs -> what the navigation calls it."""

_ENTRIES: tuple[tuple[str | None, str, str, bool], ...] = (
    (None, N_("Overview"), "/overview", False),
    *((N_("RSI loops"), NAMES[group], group_path("", group), False) for group in GROUPS),
    (N_("Experiment"), N_("Jobs"), "/experiment/jobs", False),
    (N_("Experiment"), N_("Checkpoints"), "/checkpoints", False),
    (N_("Project"), N_("Approvals"), "/approvals", False),
    (N_("Project"), N_("Keys"), "/keys", True),
    (N_("Project"), N_("Members"), "/members", True),
)
"""Group, text, path below the project's own, whether only an Admin sees it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the navigation."""

    text: str
    """What it says."""
    path: str
    """Where it leads."""
    current: bool
    """Whether the page that is shown is this one, or below it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Lines that belong together."""

    title: str | None
    """What stands above them; None: nothing."""
    entries: Sequence[Entry]
    """The lines."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the page."""

    person: Person
    """Who is signed in, with the projects that they can go to."""
    workspace_id: str
    """Workspace of the page."""
    project_id: str
    """Project of the page."""
    project: str
    """What people call the project."""
    groups: Sequence[Group]
    """The navigation."""
    crumbs: Sequence[Crumb]
    """The way to the page that is shown, from the navigation on."""


def frame(visit: Visit, further: Sequence[Crumb] = ()) -> Frame:
    """The frame of a page in a project; `further`: the way on from the entry of the navigation that it is below."""
    caller = visit.person()
    person = person_of(visit.place, caller)
    name = next((one.name for one in person.memberships if one.project_id == caller.project_id), caller.project_id)
    groups = _groups(visit, may_manage=caller.may(Permission.MANAGE))
    return Frame(person, caller.workspace_id, caller.project_id, name, groups, [*_way(groups, further), *further])


def _groups(visit: Visit, *, may_manage: bool) -> list[Group]:
    asked, say = asked_path(visit.request), visit.language.say
    made: dict[str | None, list[Entry]] = {}
    for title, text, below, managed in _ENTRIES:
        path = visit.here + below
        if may_manage or not managed:
            current = asked == path or asked.startswith(path + "/")
            made.setdefault(title, []).append(Entry(say(text), path, current))
    return [Group(say(title) if title else None, entries) for title, entries in made.items()]


def _way(groups: Sequence[Group], further: Sequence[Crumb]) -> list[Crumb]:
    for group in groups:
        for entry in group.entries:
            if entry.current:
                last: Crumb = (entry.text, entry.path if further else None)
                return [(group.title, ""), last] if group.title else [last]
    return []
