from __future__ import annotations

from typing import Any

import pytest
from jinja2 import DictLoader

from everloop.language import ENGLISH, LANGUAGES, environment
from everloop.language.vocabulary import TERMS, term

CHINESE = LANGUAGES["zh-CN"]


def shown(template: str, **values: Any) -> str:
    return environment(DictLoader({"t": template}), ENGLISH).get_template("t").render(**values)


@pytest.mark.parametrize(
    "template",
    [
        "{{ a }}",
        "{{ one.a.b.c }}",
        "{{ nothing }}",
        "{{ one.a|figure }}",
        "{{ nan|figure }}",
        "{{ inf|dollars }}",
        "{{ text|dollars }}",
        "{{ one.a|interval }}",
        "{{ half|interval }}",
        "{{ nothing|when }}",
        "{{ text|when }}",
        "{{ one.a|term }}",
        "{{ yes|figure }}",
    ],
)
def test_what_is_missing_is_a_dash_and_never_an_error_or_a_zero(template: str) -> None:
    values = {"one": {}, "nothing": None, "nan": float("nan"), "inf": float("inf"), "text": "x", "yes": True}
    assert shown(template, half={"low": 0.5, "high": None}, **values) == "—"


def test_a_missing_list_is_empty_and_a_missing_condition_false() -> None:
    assert shown("{% for x in one.rows %}{{ x }}{% endfor %}{% if one.flag %}yes{% endif %}", one={}) == ""


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ 0|figure }}", "0.000"),
        ("{{ 0.48|figure }}", "0.480"),
        ("{{ 0.5|figure('+.1f') }}", "+0.5"),
        ("{{ {'low': 0.48, 'high': 0.52}|interval }}", "[0.480, 0.520]"),
        ("{{ 0|dollars }}", "$0.00"),
        ("{{ 1.5|dollars }}", "$1.50"),
        ("{{ 0.000123|dollars }}", "$0.000123"),
        ("{{ 'is it so'|sentence }}", "Is it so."),
        ("{{ 'is it so?'|sentence }}", "Is it so?"),
        ("{{ '已过期'|sentence }}", "已过期。"),
        ("{{ '已过期。'|sentence }}", "已过期。"),
    ],
)
def test_figures_have_fixed_digits(template: str, text: str) -> None:
    assert shown(template) == text


def test_a_time_is_in_utc_with_its_zone() -> None:
    moment = "2026-11-29T08:07:06.123456Z"
    assert shown("{{ t|when }}", t=moment) == f'<time datetime="{moment}">2026-11-29 08:07:06 UTC</time>'


def test_a_time_of_another_zone_is_told_in_utc() -> None:
    assert ">2026-11-29 06:07:06 UTC<" in shown("{{ t|when }}", t="2026-11-29T08:07:06+02:00")


def test_words_are_escaped_also_as_values_of_a_text() -> None:
    assert shown("{{ a }}{{ _('about %(a)s', a=a) }}", a="<b>") == "&lt;b&gt;about &lt;b&gt;"


def test_a_word_of_the_wire_is_said_in_the_reader_s_language_and_an_unknown_one_as_it_is() -> None:
    assert (term(ENGLISH, "not_shown"), term(CHINESE, "finished")) == ("not shown", "已完成")
    assert (term(CHINESE, "some_new_word"), term(CHINESE, None), term(CHINESE, "")) == ("some new word", "—", "—")


def test_every_fixed_word_is_said_in_chinese() -> None:
    assert [word for word in TERMS if not term(CHINESE, word)] == []
