"""A run's page learns while it is open whether any worker is there to carry the run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
import stored
from browsing import Visitor
from happening import RUNS, Watched
from visiting import Reader, Site

from everloop.console import connection
from everloop.service.installation import Installation
from everloop.store import tables, workers


@pytest.fixture
def own(another_site: Callable[..., Site]) -> Site:
    """A server of the test's own: workers are the installation's."""
    return another_site()


@pytest.fixture
def guest(own: Site) -> Iterator[Reader]:
    made = Reader(own)
    made.enter()
    yield made
    made.client.close()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "KEPT", 0.0)


def begin(place: Installation) -> None:
    """A worker begins."""
    with place.database.write() as tx:
        workers.register(tx, "here", 1)


def vanish(place: Installation) -> None:
    """All workers have given their last sign of life long ago."""
    with place.database.write() as tx:
        tx.execute(sa.update(tables.workers).values(heartbeat=0.0))


@pytest.mark.usefixtures("at_once")
def test_a_worker_that_comes_or_goes_changes_both_marks(guest: Reader, own: Site) -> None:
    run = stored.running(own.place, "carried")
    begin(own.place)
    first = guest.get(f"{RUNS}/{run}/live?since=9")
    tag = {"If-None-Match": first.headers["etag"]}
    assert guest.get(f"{RUNS}/{run}/live?since=9", headers=tag).status_code == 304
    vanish(own.place)
    without = guest.get(f"{RUNS}/{run}/live?since=9", headers=tag)
    assert without.status_code == 200
    assert without.json()["board"] != first.json()["board"]
    assert without.json()["mark"] != first.json()["mark"]
    begin(own.place)
    again = guest.get(f"{RUNS}/{run}/live?since=9").json()
    assert (again["board"], again["mark"]) == (first.json()["board"], first.json()["mark"])


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("alive", [True, False])
def test_the_page_begins_with_the_mark_that_polls_have(guest: Reader, own: Site, alive: bool) -> None:
    run = stored.running(own.place, "marked")
    if alive:
        begin(own.place)
    board = guest.get(f"{RUNS}/{run}/live?since=9").json()["board"]
    page = guest.get(f"{RUNS}/{run}").text
    assert f'data-mark="{board}"' in page
    assert ('id="not-connected"' in page) != alive


def test_many_polls_look_for_workers_once(guest: Reader, own: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Installation] = []

    def spied(place: Installation) -> int:
        looked.append(place)
        return 1

    monkeypatch.setattr(connection, "workers_alive", spied)
    monkeypatch.setattr(connection, "KEPT", 600.0)
    for run in (stored.running(own.place, "one"), stored.running(own.place, "other")):
        for _ in range(5):
            guest.get(f"{RUNS}/{run}/live?since=9")
    assert len(looked) == 1


@pytest.mark.usefixtures("at_once")
def test_an_open_page_says_when_nothing_carries_the_run_any_more(visit: Callable[..., Visitor], own: Site) -> None:
    run = stored.running(own.place, "abandoned")
    begin(own.place)
    visitor = visit(own)
    visitor.enter()
    page = Watched(visitor, f"{RUNS}/{run}")
    page.polls()
    page.settle()
    assert (visitor.at("#not-connected").count(), page.count("/board")) == (0, 0)
    vanish(own.place)
    page.polls()
    page.shows("Not connected.")
    begin(own.place)
    page.polls()
    visitor.at("#not-connected").wait_for(state="detached")
    page.polls(2)
    page.settle()
    assert page.count("/board") == 2
