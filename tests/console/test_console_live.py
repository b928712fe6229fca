"""The page of a run that goes on: what it asks, when, and what it leaves alone meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import stored
from happening import RUNS, Watched, happen
from visiting import Reader, Site

from everloop.service.caller import Caller
from everloop.service.permissions import Permission, Role
from everloop.store import steers

Watch = Callable[..., Watched]


def live(reader: Reader, run: str, since: int | None = None, **more: Any) -> Any:
    return reader.get(f"{RUNS}/{run}/live", params={} if since is None else {"since": since}, **more)


# == what the server answers ==


def test_the_answer_shows_what_is_new_and_where_to_go_on(reader: Reader, site: Site, run: str) -> None:
    reader.enter()
    first = live(reader, run).json()
    happen(site.place, run, "a new entry")
    second = live(reader, run, first["cursor"]).json()
    assert second["cursor"] == first["cursor"] + 1
    assert second["html"].count("data-seq") == 1
    assert "a new entry" in second["html"]
    assert (second["state"], second["ended"], second["more"]) == ("running", False, False)
    assert second["mark"] != first["mark"]
    assert live(reader, run, second["cursor"]).json()["html"].count("data-seq") == 0


def test_who_has_the_present_state_gets_no_second_copy(reader: Reader, site: Site, run: str) -> None:
    reader.enter()
    tag = live(reader, run, 3).headers["etag"]
    assert live(reader, run, 3, headers={"If-None-Match": tag}).status_code == 304
    chinese = {"If-None-Match": tag, "Accept-Language": "zh-CN"}
    assert live(reader, run, 3, headers=chinese).status_code == 200
    happen(site.place, run, "a new entry")
    assert live(reader, run, 3, headers={"If-None-Match": tag}).status_code == 200


def test_the_short_way_and_the_long_one_give_the_same(reader: Reader, run: str) -> None:
    reader.enter()
    short = live(reader, run, 3)
    long = reader.client.head(f"{RUNS}/{run}/live?since=3")  # only GET goes the short way
    assert long.headers["etag"] == short.headers["etag"]
    assert long.headers["content-length"] == str(len(short.content)) or "content-encoding" in long.headers


def test_a_stranger_and_another_project_see_nothing(reader: Reader, site: Site, run: str) -> None:
    assert live(reader, run).status_code == 401
    other = site.project()
    reader.enter((other, Role.ADMIN))
    assert live(reader, run).status_code == 404
    assert reader.get(f"/local/{other}/rsi/model-loops/{run}/live").status_code == 404


def test_a_run_is_followed_in_another_project_than_the_chosen_one(reader: Reader, site: Site) -> None:
    other = site.project()
    owner = Caller("user:x", "local", other, frozenset(Permission))
    run = stored.running(site.place, "elsewhere", caller=owner)
    reader.enter(("local", Role.VIEWER), (other, Role.VIEWER))
    assert reader.get(f"/local/{other}/rsi/model-loops/{run}/live").json()["state"] == "running"
    assert live(reader, run).status_code == 404


@pytest.mark.parametrize("since", ["-1", "x", "1e3", "99999999999999999999"])
def test_a_cursor_that_is_none_is_refused(reader: Reader, site: Site, since: str) -> None:
    run = stored.running(site.place, f"refused{len(since)}")
    reader.enter()
    assert reader.get(f"{RUNS}/{run}/live?since={since}").status_code == 422


# == what the page does ==


def test_new_entries_come_first_and_the_others_stay_where_they_are(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    page.visitor.ask("window.first = document.querySelector('#events > li')")
    happen(site.place, run, "older news", "newer news")
    page.polls()
    page.shows("newer news")
    words = page.visitor.at("#events > li [data-text]").all_inner_texts()
    assert words[:2] == ["newer news", "older news"]
    assert page.visitor.ask("window.first === document.querySelectorAll('#events > li')[2]")


def test_the_run_is_asked_about_every_three_seconds(watch: Watch, run: str) -> None:
    page = watch(run)
    page.wait(2.75)
    assert page.asked == []
    page.wait(0.5)
    assert page.count("/live?") == 1
    assert 8.5 <= page.polls(3) <= 9.5


def test_states_spend_and_steers_follow(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    with site.place.database.write() as tx:
        steers.mark_delivered(tx, run, [one.id for one in steers.queued(tx, run)], 5)
    happen(site.place, run, phase="audit", best_version="v7")
    page.polls(2)
    page.shows("v7")
    assert "queued" not in page.visitor.at("#steers").inner_text()


def test_many_entries_are_caught_up_with_at_once(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    happen(site.place, run, *(f"entry {n}" for n in range(450)))
    page.wait(4)
    page.visitor.until("document.querySelector('#events > li').textContent.includes('entry 449')")
    assert page.count("/live?") == 3


def test_no_more_than_five_hundred_entries_stay(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    happen(site.place, run, *(f"entry {n}" for n in range(700)))
    page.wait(4)
    page.visitor.until("document.querySelector('#events > li').textContent.includes('entry 699')")
    assert page.visitor.at("#events > li").count() == 500


def test_new_entries_are_announced_politely(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    heard = page.visitor.at("body > [role=status]")
    happen(site.place, run, "the first of them")
    page.polls()
    page.wait(1)
    assert heard.inner_text() == "New: the first of them"
    happen(site.place, run, "a second", "a third")
    page.polls()
    page.wait(0.5)
    assert heard.inner_text() == "New: the first of them"  # a sentence is not cut off by the next
    page.wait(5)
    assert heard.inner_text() == "2 new entries, the newest: a third"


def test_the_board_is_asked_for_when_it_changes_and_seldom_otherwise(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    page.polls(2)
    assert page.count("/board") == 0
    happen(site.place, run, "only a message")
    page.polls(2)
    assert page.count("/board") == 0
    happen(site.place, run, round=6)
    page.polls(2)
    assert page.count("/board") == 1
    happen(site.place, run, "only a message")
    page.wait(18)
    assert page.count("/board") == 2
    page.wait(30)
    assert page.count("/board") == 2


def test_the_board_takes_up_what_changed(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    happen(site.place, run, round=6, rounds_target=17)
    page.polls(2)
    page.visitor.until("document.querySelector('#overview').textContent.includes('17')")
    assert page.visitor.at("#events > li").count() > 5


def test_nothing_is_asked_behind_another_tab(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    page.polls()
    page.visitor.hide()
    asked = len(page.asked)
    happen(site.place, run, "missed for ten minutes", round=6)
    page.leap(600)
    page.wait(10)
    assert len(page.asked) == asked
    page.visitor.hide(False)
    page.shows("missed for ten minutes")
    assert page.count("/live?") == 2


def test_nothing_is_asked_after_the_end(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    happen(site.place, run, "the run is finished", state="finished", phase="end", best_version="v9")
    page.polls()
    page.shows("the run is finished")
    page.settle()
    # the board as it is at the end is the last thing that is asked for
    assert [one.partition("?")[0].rpartition("/")[2] for one in page.asked] == ["live", "board"]
    page.visitor.until("document.querySelector('#overview').textContent.includes('v9')")
    page.wait(10)
    page.leap(3600)
    page.visitor.hide()
    page.visitor.hide(False)
    page.visitor.ask("dispatchEvent(new Event('online'))")
    page.visitor.pause(0.2)
    assert len(page.asked) == 2


@pytest.mark.parametrize("state", ["finished", "failed", "stopped", "unreadable"])
def test_the_page_of_a_run_that_has_ended_asks_nothing(watch: Watch, site: Site, state: str) -> None:
    name = getattr(stored, state)(site.place, f"ended-{state}")
    page = watch(name)
    page.wait(4)
    page.leap(600)
    assert page.asked == []


def test_opened_details_focus_and_scroll_stay_while_things_change(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    visitor = page.visitor
    opened = "[...document.querySelectorAll('main details')].filter((one) => one.open).map((one) => one.id)"
    visitor.ask("document.querySelectorAll('main details[id]').forEach((one, n) => { one.open = n % 2 === 0; })")
    before = visitor.ask(opened)
    visitor.at("main details[id] > summary").nth(2).focus()
    visitor.ask("window.held = document.activeElement")
    visitor.ask("document.querySelectorAll('.scroll').forEach((one) => { one.scrollTop = 40; one.scrollLeft = 15; })")
    scrolled = "[...document.querySelectorAll('.scroll')].map((one) => one.scrollLeft)"
    sideways = visitor.ask(scrolled)
    top = visitor.ask("held.getBoundingClientRect().top")
    for number in range(5):
        happen(site.place, run, f"entry {number}", f"another {number}", round=6 + number)
        page.polls()
        page.shows(f"another {number}")
        page.settle()
    assert page.count("/board") == 5
    assert len(before) > 1
    assert visitor.ask(opened) == before
    assert visitor.ask("document.activeElement === held")
    assert visitor.ask(scrolled) == sideways
    assert abs(visitor.ask("held.getBoundingClientRect().top") - top) < 2


@pytest.mark.parametrize("anchors", [True, False], ids=["most browsers", "one without anchors"])
def test_what_is_read_in_the_list_of_entries_stays_in_its_place(watch: Watch, site: Site, anchors: bool) -> None:
    run = stored.running(site.place, f"read-{anchors}".lower())
    page = watch(run)
    visitor = page.visitor
    if not anchors:
        visitor.ask("CSS.supports = () => false")
        visitor.ask("window.sheet = new CSSStyleSheet()")
        visitor.ask("sheet.replaceSync('* { overflow-anchor: none }'), void (document.adoptedStyleSheets = [sheet])")
    visitor.ask("document.querySelector('.events').scrollTop = 200")
    visitor.ask("window.read = document.querySelectorAll('#events > li')[8]")
    top = visitor.ask("read.getBoundingClientRect().top")
    happen(site.place, run, *(f"entry {number}" for number in range(10)))
    page.polls(2)
    page.visitor.pause(0.1)
    assert abs(visitor.ask("read.getBoundingClientRect().top") - top) < 2


def test_refresh_asks_for_the_board_as_well(watch: Watch, run: str) -> None:
    page = watch(run)
    page.polls()
    page.settle()
    before = page.count("/board")
    page.visitor.page.get_by_role("link", name="Refresh").click()
    page.asks(before + 1, "/board")


def test_what_changed_between_the_page_and_its_first_question_reaches_the_board(
    watch: Watch, site: Site, run: str
) -> None:
    page = watch(run)
    happen(site.place, run, "before the first question")
    page.polls()
    page.settle()
    assert page.count("/board") == 0
    page.wait(18)
    assert page.count("/board") == 1
