"""Tables behind pictures in a report: times to the second in UTC, counts with thousands."""

from __future__ import annotations

import re

from reported import document, history

from everloop import pictures
from everloop.language import ENGLISH
from everloop.pictures import Column, Picture
from everloop.report.cells import tabled
from everloop.report.html import html
from everloop.report.markdown import markdown

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d")


def table(form: str = "", *, time: bool = False, value: str | float | None) -> str:
    [[cell]] = tabled(Picture("p", "title", "told", "", [Column("c", form, time)], [[value]])).rows
    return cell


def test_a_column_of_times_is_told_in_utc_and_says_dash_of_what_is_no_time() -> None:
    assert table(time=True, value="2026-11-29T21:31:45.123456Z") == "2026-11-29 21:31:45 UTC"
    assert table(time=True, value="2026-11-29T23:31:45+02:00") == "2026-11-29 21:31:45 UTC"
    assert (table(time=True, value=None), table(time=True, value="soon")) == ("—", "—")


def test_a_text_that_looks_like_a_time_is_left_as_it_is() -> None:
    assert table(value="2026-11-29T21:31:45Z") == "2026-11-29T21:31:45Z"


def test_counts_have_their_thousands() -> None:
    assert table(",.0f", value=2000) == "2,000"


def test_no_report_has_a_time_as_the_record_writes_it() -> None:
    found = pictures.of(document(), history(), ENGLISH)
    assert sum(column.time for one in found for column in one.columns) == 4
    for text in (html(document(), history(), ENGLISH), markdown(document(), history(), ENGLISH)):
        assert not ISO.search(text)
        assert text.count("2026-11-29 21:31:46 UTC") > 3
