"""The page of a run whose server does not answer, or not what was hoped for: it says so, and goes on by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import stored
from happening import Watched, happen
from visiting import Site

Watch = Callable[..., Watched]


def away(page: Watched) -> None:
    page.visitor.expected.append("Failed to load|ERR_")
    page.visitor.page.route("**/live?*", lambda route: route.abort())


def test_it_asks_less_and_less_often_while_nobody_answers(watch: Watch, run: str) -> None:
    page = watch(run)
    away(page)
    page.polls()
    page.settle()
    for number, wanted in enumerate([3, 6, 12, 24, 48, 60, 60], 1):
        page.leap(wanted * 0.85)
        assert page.count("/live?") == number
        page.leap(wanted * 0.27)
        page.asks(number + 1)
        page.settle()


def test_it_says_so_and_goes_on_by_itself(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    heard, notice = page.visitor.at("body > [role=status]"), page.visitor.at(".notice")
    away(page)
    page.polls(2)
    page.settle()
    assert "The server does not answer. Next try at " in notice.inner_text()
    page.wait(0.5)
    assert heard.inner_text() == "The server does not answer. What is shown may be old."
    happen(site.place, run, "meanwhile")
    page.visitor.page.unroute("**/live?*")
    page.polls()
    page.shows("meanwhile")
    assert notice.count() == 0
    page.wait(6)
    assert "meanwhile" in heard.inner_text() or heard.inner_text() == "The server answers again."
    page.polls()  # from one question on
    assert 2.5 <= page.polls(2) / 2 <= 3.5


def test_the_reader_can_have_it_try_at_once(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    away(page)
    page.polls(3)
    page.visitor.page.unroute("**/live?*")
    page.visitor.page.get_by_role("button", name="Retry").press("Enter")
    page.visitor.at(".notice").wait_for(state="detached")
    assert page.count("/live?") == 4


@pytest.mark.parametrize("sign", ["dispatchEvent(new Event('online'))", "hidden and back"])
def test_it_tries_at_once_when_the_reader_is_back(watch: Watch, site: Site, sign: str) -> None:
    page = watch(stored.running(site.place, f"back-{len(sign)}"))
    away(page)
    page.polls(3)
    page.visitor.page.unroute("**/live?*")
    if sign.startswith("hidden"):
        page.visitor.hide()
        page.visitor.hide(False)
    else:
        page.visitor.ask(sign)
    page.visitor.at(".notice").wait_for(state="detached")


def test_an_answer_that_does_not_come_counts_as_none(watch: Watch, run: str) -> None:
    page = watch(run)
    page.visitor.page.route("**/live?*", lambda route: None)
    page.leap(3)
    page.asks(1)
    page.leap(19)
    assert page.visitor.at(".notice").count() == 0
    page.leap(2)
    page.visitor.at(".notice").wait_for()
    page.leap(4)
    page.asks(2)
    page.visitor.page.unroute_all(behavior="ignoreErrors")


def test_who_is_signed_out_is_told_and_nothing_more_is_asked(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    page.visitor.expected.append("401")
    page.visitor.context.clear_cookies()
    page.polls()
    page.visitor.at(".notice").wait_for()
    assert "You are signed out." in page.visitor.at(".notice").inner_text()
    page.wait(5)
    page.leap(600)
    assert page.count("/live?") == 1
    page.visitor.press("Load the page again")
    assert "/sign-in" in page.visitor.page.url


def test_a_server_that_asks_to_wait_is_waited_for(watch: Watch, run: str) -> None:
    page = watch(run)
    page.visitor.expected.append("429")
    answer: Any = {"status": 429, "headers": {"Retry-After": "40"}, "body": "{}"}
    page.visitor.page.route("**/live?*", lambda route: route.fulfill(**answer))
    page.polls()
    page.settle()
    page.leap(39)
    assert page.count("/live?") == 1
    page.leap(2)
    page.asks(2)


def test_a_board_that_fails_does_not_hold_up_the_rest(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    page.visitor.expected.append("500")
    page.visitor.page.route("**/board", lambda route: route.fulfill(status=500, body=""))
    happen(site.place, run, "told all the same", round=6)
    page.polls()
    page.shows("told all the same")
    assert page.visitor.at(".notice").count() == 0
