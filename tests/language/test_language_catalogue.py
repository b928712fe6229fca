from __future__ import annotations

import gettext
import shutil
from pathlib import Path

import pytest

from everloop.language import ENGLISH, LANGUAGES, chosen
from everloop.language.catalogue import TRANSLATIONS, Language, built


@pytest.mark.parametrize(
    ("accepted", "tag"),
    [
        ("", "en"),
        ("zh-CN", "zh-CN"),
        ("zh", "zh-CN"),
        ("zh-Hant-TW", "zh-CN"),
        ("ZH-cn", "zh-CN"),
        ("fr", "en"),
        ("fr, zh;q=0.4, en;q=0.7", "en"),
        ("en;q=0, zh", "zh-CN"),
        ("zh;q=0", "en"),
        ("zh;q=x, en", "en"),
        ("zh;q=nan", "en"),
        ("*", "en"),
        (",;,;q=,zh", "zh-CN"),
        ("fr," * 5000 + "zh", "en"),
    ],
)
def test_the_browser_s_most_wanted_language_that_there_is_is_chosen(accepted: str, tag: str) -> None:
    assert chosen(None, accepted).tag == tag


def test_what_the_reader_switched_to_counts_more_than_the_browser() -> None:
    assert chosen("en", "zh").tag == "en"
    assert chosen("zh-CN", "en").tag == "zh-CN"
    assert chosen("xx", "zh").tag == "zh-CN"


def test_values_stand_where_the_text_names_them() -> None:
    assert ENGLISH.say("%(a)s of %(b)s", a=1, b="2") == "1 of 2"
    assert ENGLISH.say("100 % of it") == "100 % of it"


@pytest.mark.parametrize(("n", "said"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs")])
def test_a_count_has_its_own_plural(n: int, said: str) -> None:
    assert ENGLISH.count("%(n)s run", "%(n)s runs", n) == said


def test_a_text_without_a_translation_stays_english() -> None:
    assert LANGUAGES["zh-CN"].say("no such text") == "no such text"


def test_a_language_whose_catalogue_is_not_built_is_not_offered(tmp_path: Path) -> None:
    assert list(built(tmp_path)) == ["en"]
    (tmp_path / "zh_CN" / "LC_MESSAGES").mkdir(parents=True)
    shutil.copy(TRANSLATIONS / "zh_CN" / "LC_MESSAGES" / "everloop.mo", tmp_path / "zh_CN" / "LC_MESSAGES")
    assert list(built(tmp_path)) == ["en", "zh-CN"]


def test_languages_are_equal_by_what_they_are_not_by_their_catalogue() -> None:
    assert Language("en", "English", gettext.NullTranslations()) == ENGLISH
