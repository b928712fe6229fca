"""Lists that are kept up to date: what somebody hears who does not see them."""

from __future__ import annotations

from collections.abc import Callable

import stored
from browsing import Visitor
from happening import HERE, RUNS, Watched
from visiting import Site

HEARD = "body > [role=status]"


def test_new_rows_of_a_list_are_told_with_their_number(
    visit: Callable[..., Visitor], another_site: Callable[..., Site]
) -> None:
    site = another_site(max_active_runs=100)
    stored.running(site.place, "there-before")
    visitor = visit(site)
    visitor.enter()
    page = Watched(visitor, RUNS)
    page.wait(10.5)
    assert len(page.asked) == 1
    assert visitor.at(HEARD).inner_text() == ""
    stored.running(site.place, "one-more")
    page.wait(10.5)
    assert visitor.at(HEARD).inner_text() == "The list has 1 new row."
    for number in range(3):
        stored.running(site.place, f"further-{number}")
    page.wait(10.5)
    assert visitor.at(HEARD).inner_text() == "The list has 3 new rows."


def test_what_begins_to_need_a_person_is_told_on_the_overview(
    visit: Callable[..., Visitor], another_site: Callable[..., Site]
) -> None:
    site = another_site()
    visitor = visit(site)
    visitor.enter()
    page = Watched(visitor, f"{HERE}/overview")
    stored.paused(site.place, "asks-on-a-list")
    page.wait(10.5)
    assert visitor.at(HEARD).inner_text() == "The list has 1 new row."
    assert visitor.at("main li[id^=waits-]").count() == 1
