from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa
import stored
from visiting import Reader, Site

from everloop.service.overview import FAILED_DAYS, MOST
from everloop.store import tables, workers
from everloop.values import iso, utcnow

OVERVIEW = "/local/local/overview"


@pytest.fixture
def own(another_site: Callable[..., Site]) -> Site:
    """A server of the test's own: the overview tells of everything in a project."""
    return another_site()


@pytest.fixture
def guest(own: Site) -> Iterator[Reader]:
    made = Reader(own)
    made.enter()
    yield made
    made.client.close()


def section(reader: Reader, name: str) -> str:
    """The words of a section of the page."""
    inside = reader.page.text.partition(f'<section aria-labelledby="{name}">')[2].partition("</section>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", inside)).split())


def days_ago(days: float) -> str:
    return str(iso(utcnow() - timedelta(days=days)))


def test_a_project_without_anything_says_so(guest: Reader) -> None:
    guest.get(OVERVIEW)
    assert "Nothing waits for a person." in section(guest, "attention")
    assert "No run is active." in section(guest, "active")


def test_runs_at_work_show_what_they_have_spent_of_their_caps(guest: Reader, own: Site) -> None:
    stored.running(own.place, "at-work")
    guest.get(OVERVIEW)
    words = section(guest, "active")
    assert "at-work" in words and "running" in words and "5 / 8" in words
    assert re.search(r"\$0\.\d+ of \$5\.00", words) and re.search(r"\$0\.\d+ of \$8\.00", words)
    assert f'href="{OVERVIEW.removesuffix("/overview")}/rsi/model-loops/at-work"' in guest.page.text
    assert re.findall(r'<meter class="spent" min="0" max="(.*?)" value="0\.\d+"', guest.page.text) == ["5.0", "8.0"]


def test_what_needs_a_person_says_why(guest: Reader, own: Site) -> None:
    stored.paused(own.place, "asks")
    stored.failed(own.place, "broken", updated_at=days_ago(1))
    stored.stopped(
        own.place, "spent", state="paused", error={"code": "CAP_REACHED", "message": "usd_cap is used up: it was $8"}
    )
    guest.get(OVERVIEW)
    words = section(guest, "attention")
    assert "r1c1 of run asks waits for an approval" in words
    assert "KeyError in phase evaluate of round 2." in words
    assert "Usd_cap is used up: it was $8." in words


def test_a_run_that_failed_asks_for_a_person_for_a_week(guest: Reader, own: Site) -> None:
    stored.failed(own.place, "this-week", updated_at=days_ago(FAILED_DAYS - 0.01))
    stored.failed(own.place, "last-week", updated_at=days_ago(FAILED_DAYS + 0.01))
    stored.paused(own.place, "waits-for-long", updated_at=days_ago(400))
    guest.get(OVERVIEW)
    words = section(guest, "attention")
    assert "this-week" in words and "last-week" not in words and "waits-for-long" in words
    assert "A run that failed is listed here for 7 days." in words


def test_old_failures_are_not_among_what_is_left_out(guest: Reader, own: Site) -> None:
    for number in range(MOST + 2):
        stored.starting(own.place, f"old-{number}", state="failed", updated_at=days_ago(8))
    stored.starting(own.place, "new", state="failed", updated_at=days_ago(6))
    guest.get(OVERVIEW)
    words = section(guest, "attention")
    assert re.findall(r"(?:old|new)[-\d]*", words) == ["new"]
    assert "Only the newest are shown." not in words


def test_a_run_with_nulls_everywhere_and_an_unreadable_one_are_shown(guest: Reader, own: Site) -> None:
    stored.bare(own.place, "nulls")
    stored.unreadable(own.place, "broken")
    assert guest.get(OVERVIEW).status_code == 200
    assert "nulls" in section(guest, "active") and "broken" in section(guest, "active")
    assert "—" in section(guest, "active")


def test_what_was_never_metered_is_shown_as_missing_on_every_page(guest: Reader, own: Site) -> None:
    run = stored.bare(own.place, "unmetered")
    with own.place.database.write() as tx:
        tx.execute(sa.delete(tables.caps).where(tables.caps.c.run == run))
    below = f"/local/local/rsi/model-loops/{run}"
    for path in (OVERVIEW, "/local/local/rsi/model-loops", below, f"{below}/board", f"{below}/report.md"):
        answer = guest.get(path)
        assert (answer.status_code, "$0.00" in answer.text, "—" in answer.text) == (200, False, True), path


def test_without_a_worker_the_page_says_that_nothing_is_connected(guest: Reader, own: Site) -> None:
    guest.get(OVERVIEW)
    assert "Not connected." in guest.text
    with own.place.database.write() as tx:
        workers.register(tx, "here", 1)
    guest.get(OVERVIEW)
    assert "Not connected." not in guest.text
    assert "Workers alive 1" in guest.text


def test_texts_of_others_are_words_and_nothing_else(guest: Reader, own: Site) -> None:
    stored.stopped(own.place, "evil", state="paused", error={"code": "X", "message": stored.HOSTILE})
    guest.get(OVERVIEW)
    assert "<script>alert" not in guest.page.text
    assert "&lt;script&gt;alert" in guest.page.text
