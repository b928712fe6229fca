from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

import pytest
import stored
from browsing import Visitor
from visiting import Reader, Site

from everloop.console import loops, navigation
from everloop.service.groups import GROUPS
from everloop.service.permissions import Role
from everloop.store import workers

LOOPS = "/local/local/rsi/model-loops"


@pytest.fixture
def own(another_site: Callable[..., Site]) -> Site:
    """A server of the test's own: the list has everything in a project."""
    return another_site(max_active_runs=1000)


@pytest.fixture
def guest(own: Site) -> Iterator[Reader]:
    made = Reader(own)
    made.enter()
    yield made
    made.client.close()


def rows(page: str) -> list[list[str]]:
    """The cells of the list, as words."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in body.split("<tr ")[1:]]
    return [[" ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in row] for row in found]


def test_a_run_shows_name_status_round_best_version_spend_and_update(guest: Reader, own: Site) -> None:
    stored.finished(own.place, "done", updated_at="2026-11-29T08:07:06.000000Z")
    guest.get(LOOPS)
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', guest.page.text)
    assert heads == ["Name", "Status", "Round / target", "Best version", "Spend", "Updated"]
    name, status, round_, best, spend, updated = rows(guest.page.text)[0]
    assert (name, status, round_, best, updated) == ("done", "finished", "8 / 8", "v3", "2026-11-29 08:07:06 UTC")
    assert re.fullmatch(r"\$\d+\.\d\d+", spend)
    assert f'<a href="{LOOPS}/done">done</a>' in guest.page.text
    assert '<time datetime="2026-11-29T08:07:06.000000Z">' in guest.page.text


def test_the_newest_update_is_first_and_older_ones_are_on_further_pages(guest: Reader, own: Site) -> None:
    names = stored.many(own.place, 60)
    seen: list[str] = []
    path = LOOPS
    for _ in range(3):
        guest.get(path)
        seen += [row[0] for row in rows(guest.page.text)]
        further = re.search(r'rel="next" href="([^"]*)"', guest.page.text)
        path = html.unescape(further[1]) if further else ""
    assert path == ""
    assert seen == names[::-1]
    assert ">Newest</a>" in guest.page.text


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_runs_says_so_and_how_one_is_started(reader: Reader, site: Site, group: str) -> None:
    project = site.project()
    reader.enter((project, Role.VIEWER))
    reader.get(f"/local/{project}/rsi/{group}-loops")
    assert "No run is recorded in this group yet." in reader.text
    assert ("A run that improves a model is listed under Model." in reader.text) == (group != "model")
    for way in ("el job run start", "POST /v1/agent-runs/rsi/runs", "rsi_start_run"):
        assert way in reader.text


@pytest.mark.parametrize(
    ("group", "title"),
    [("infra", "Infra Loops"), ("harness", "Harness Loops"), ("data", "Data Loops"), ("search", "Search Loops")],
)
def test_another_group_has_only_its_own_runs(guest: Reader, own: Site, group: str, title: str) -> None:
    stored.stopped(own.place, "of-model")
    assert guest.get(f"/local/local/rsi/{group}-loops").status_code == 200
    assert (
        title in guest.text and "No run is recorded in this group yet." in guest.text and "of-model" not in guest.text
    )
    stored.stopped(own.place, f"of-{group}", group=group)
    guest.get(f"/local/local/rsi/{group}-loops")
    assert [row[0] for row in rows(guest.page.text)] == [f"of-{group}"]


def test_every_group_has_a_name_a_title_and_a_description() -> None:
    assert set(navigation.NAMES) == set(loops.TITLES) == set(loops.ABOUT) == set(GROUPS)


def test_search_is_of_runs_that_improve_how_a_loop_searches(reader: Reader) -> None:
    reader.enter()
    reader.get("/local/local/rsi/search-loops")
    assert "Runs that improve how a loop searches: proposer instructions, strategy, schedule." in reader.text


def test_a_group_that_is_none_is_not_found(guest: Reader) -> None:
    assert guest.get("/local/local/rsi/other-loops").status_code == 404


@pytest.mark.parametrize("cursor", ["x", "\u00e4", "W10"])
def test_a_cursor_of_another_list_is_told(guest: Reader, cursor: str) -> None:
    assert guest.get(LOOPS, params={"cursor": cursor}).status_code == 422
    assert "This cursor is not of this list." in guest.text


def test_runs_with_nulls_and_unreadable_ones_are_rows_like_the_others(guest: Reader, own: Site) -> None:
    stored.bare(own.place, "nulls", updated_at="2026-11-29T03:00:00.000000Z")
    stored.unreadable(own.place, "broken", updated_at="2026-11-29T02:00:00.000000Z")
    stored.failed(own.place, "failed", updated_at="2026-11-29T01:00:00.000000Z")
    assert guest.get(LOOPS).status_code == 200
    assert [row[0] for row in rows(guest.page.text)] == ["nulls", "broken", "failed"]
    assert rows(guest.page.text)[0][3] == "—"


def test_without_a_worker_the_list_is_shown_and_says_that_nothing_is_connected(guest: Reader, own: Site) -> None:
    stored.running(own.place, "at-work")
    guest.get(LOOPS)
    assert "Not connected." in guest.text
    assert [row[0] for row in rows(guest.page.text)] == ["at-work"]
    with own.place.database.write() as tx:
        workers.register(tx, "here", 1)
    guest.get(LOOPS)
    assert "Not connected." not in guest.text


def test_a_narrow_screen_shows_few_columns_until_all_are_asked_for(visit: Callable[..., Visitor], own: Site) -> None:
    stored.finished(own.place, "done")
    visitor = visit(own, width=360)
    visitor.enter()
    visitor.go(LOOPS)
    assert not visitor.at("th >> text=Spend").is_visible()
    visitor.press("All columns")
    assert visitor.at("th >> text=Spend").is_visible()
    assert visitor.overflow == 0
    visitor.press("Fewer columns")
    assert not visitor.at("th >> text=Spend").is_visible()
    visitor.look(1280)
    assert visitor.at("th >> text=Spend").is_visible()
    assert not visitor.at("a >> text=All columns").is_visible()


def test_refresh_shows_what_is_new_without_a_script_too(visit: Callable[..., Visitor], own: Site) -> None:
    visitor = visit(own, java_script_enabled=False)
    visitor.enter()
    visitor.go(LOOPS)
    assert "No run is recorded" in visitor.text
    stored.running(own.place, "fresh")
    visitor.press("Refresh")
    assert "fresh" in visitor.text
