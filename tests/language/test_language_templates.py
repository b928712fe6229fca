from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader
from markupsafe import Markup

import everloop
from everloop.language import ENGLISH, LANGUAGES, environment
from everloop.language.vocabulary import PHASES, TERMS, phase, term
from everloop.loop.desk import TURN
from everloop.pictures.phases import KINDS

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


def test_nothing_within_a_sentence_is_a_dash_too() -> None:
    assert shown("{{ _('%(a)s of %(b)s', a=one.x, b=one.y) }}", one={"x": None}) == "— of —"
    assert shown("{{ ngettext('%(num)s of %(a)s', '%(num)s of %(a)s', 2, a=a) }}", a=None) == "2 of —"
    assert shown("{{ _('%(n)s', n=0) }}{{ _('%(t)s', t='') }}") == "0"


@pytest.mark.parametrize("template", ["{{ a }}", "{{ a ~ '' }}", "{{ _('%(a)s', a=a) }}", '<p title="{{ a }}"></p>'])
def test_no_text_turns_what_follows_it(template: str) -> None:
    text = shown(template, a="in\u202evoice\x07 <b>\u3000\n中文")
    assert "in\ufffdvoice\ufffd &lt;b&gt;\u3000\n中文" in text
    assert "\u202e" not in text


def test_what_is_html_already_stays_as_it_is() -> None:
    assert shown("{{ a }}{{ _('%(a)s', a=a) }}", a=Markup("<b>\u200f</b>")) == "<b>\u200f</b>" * 2


def test_words_are_escaped_also_as_values_of_a_text() -> None:
    assert shown("{{ a }}{{ _('about %(a)s', a=a) }}", a="<b>") == "&lt;b&gt;about &lt;b&gt;"


def test_a_word_of_the_wire_is_said_in_the_reader_s_language_and_an_unknown_one_as_it_is() -> None:
    assert (term(ENGLISH, "not_shown"), term(CHINESE, "finished")) == ("not shown", "已完成")
    assert (term(CHINESE, "some_new_word"), term(CHINESE, None), term(CHINESE, "")) == ("some new word", "—", "—")


def test_a_phase_is_called_by_its_own_name_also_where_the_word_means_something_else() -> None:
    assert (shown("{{ 'dev'|phase }}"), shown("{{ 'dev'|term }}")) == ("draw dev items", "dev")
    assert (shown("{{ 'admit'|phase }}"), phase(ENGLISH, "certify")) == ("pre-test", "certify")
    assert (phase(ENGLISH, "of-mine"), shown("{{ nothing|phase }}"), phase(ENGLISH, 7)) == ("of-mine", "—", "—")


def test_every_phase_that_the_loop_writes_has_a_name() -> None:
    code = [ast.parse(one.read_text()) for one in (Path(everloop.__file__).parent / "loop").glob("*.py")]
    calls = [one for tree in code for one in ast.walk(tree) if isinstance(one, ast.Call)]
    named = [one.args[1] for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == "phase"]
    written = {one.value for one in named if isinstance(one, ast.Constant)} | {TURN}
    assert [one for one in named if not isinstance(one, ast.Constant) and ast.unparse(one) != "TURN"] == []
    assert len(written) > 25 and written - set(PHASES) == set()


def test_every_kind_of_work_is_of_a_phase() -> None:
    assert set(KINDS) - set(PHASES) == set()


def test_every_fixed_word_is_said_in_chinese() -> None:
    assert [word for word in TERMS if not term(CHINESE, word)] == []
