"""Reading a time of the record: one rule for pages, reports, pictures and the history document."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader

from everloop.fields import clock, moment
from everloop.language import ENGLISH, environment
from everloop.report import texts

AT = datetime(2026, 11, 29, 8, 7, 6, tzinfo=UTC)

READ = [
    ("2026-11-29T08:07:06Z", AT),
    ("2026-11-29T08:07:06.123456Z", AT.replace(microsecond=123456)),
    ("2026-11-29T10:07:06+02:00", AT),
    ("2026-11-29T08:07:06", AT),
    ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
]
NONE = [
    "",
    "x",
    "2026-13-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-01:00",
    "12:30",
    None,
    3,
    True,
]


def shown(value: object) -> str:
    return environment(DictLoader({"t": "{{ t|when }}"}), ENGLISH).get_template("t").render(t=value)


@pytest.mark.parametrize(("text", "at"), READ)
def test_a_time_is_read_as_utc_also_without_a_zone(text: str, at: datetime) -> None:
    read = moment(text)
    assert read == at
    assert read is not None and read.utcoffset() == timedelta(0)


@pytest.mark.parametrize("value", NONE)
def test_what_is_no_time_is_none_and_a_dash_on_pages_and_in_reports(value: Any) -> None:
    assert moment(value) is None
    assert texts.moment(value) == "—"
    assert shown(value) == "—"


@given(st.datetimes(timezones=st.timezones() | st.none()))
def test_pages_and_reports_tell_the_same_time_whatever_it_is(at: datetime) -> None:
    text = at.isoformat()
    told = texts.moment(text)
    assert (told == "—") == (moment(text) is None)
    assert shown(text) == told if told == "—" else shown(text).endswith(f">{told}</time>")


def test_a_time_is_told_to_the_second_with_its_zone() -> None:
    assert clock(AT.replace(microsecond=999999)) == "2026-11-29 08:07:06 UTC"
    assert clock(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01 00:00:00 UTC"


def test_a_browser_is_given_the_time_in_utc_so_that_it_reads_the_same() -> None:
    told = '<time datetime="2026-11-29T08:07:06.000000Z">2026-11-29 08:07:06 UTC</time>'
    assert shown("2026-11-29T08:07:06") == told
    assert shown("2026-11-29T10:07:06+02:00") == told
