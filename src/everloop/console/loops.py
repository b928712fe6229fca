"""The runs of a group: Model Loops, Infra, Harness, Data, Search."""

from __future__ import annotations

from starlette.responses import Response

from everloop.console import pages
from everloop.console.visits import Visit
from everloop.errors import NotFound
from everloop.language.vocabulary import N_
from everloop.service import figures, runs
from everloop.service.groups import GROUPS

TITLES = {
    "model": N_("Model Loops"),
    "infra": N_("Infra Loops"),
    "harness": N_("Harness Loops"),
    "data": N_("Data Loops"),
    "search": N_("Search Loops"),
}
"""Group -> what its list is called."""
ABOUT = {
    "model": N_("Runs that improve what a model can do, or how it is trained."),
    "infra": N_("Runs that make kernels, training and inference more efficient."),
    "harness": N_("Runs that improve an agent's prompts, tools, memory and orchestration."),
    "data": N_("Runs that improve how data are made, and their versions."),
    "search": N_("Runs that improve how a loop searches: proposer instructions, strategy, schedule."),
}
"""Group -> what its runs improve."""


def loops(visit: Visit) -> Response:
    """``/rsi/GROUP-loops`` of a project: a page of its runs, newest update first."""
    group = str(visit.request.path_params["group"])
    if group not in GROUPS:
        raise NotFound("this group of runs is not known", then=f"Known: {', '.join(GROUPS)}")
    cursor = visit.asked("cursor")
    page = runs.pages(visit.place, cursor=cursor or None, caller=visit.person(), group=group)
    return pages.framed(
        visit,
        "loops.html",
        group=group,
        title=visit.language.say(TITLES[group]),
        about=visit.language.say(ABOUT[group]),
        page=page,
        cursor=cursor,
        wide=visit.asked("columns") == "all",
        workers=figures.workers_alive(visit.place),
    )
