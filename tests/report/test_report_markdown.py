"""The report as Markdown: the same words, and nothing of the record that Markdown would take for its own."""

from __future__ import annotations

import re
from typing import Any

import pytest
from reported import document, history

from everloop.language import ENGLISH
from everloop.report.contents import contents
from everloop.report.markdown import escaped, markdown


def written(**changes: Any) -> str:
    return markdown(document(**changes), history(), ENGLISH)


def test_it_begins_with_what_is_shown() -> None:
    lines = written().split("\n\n")
    assert lines[:2] == ["# Report of run arith-carry-1", "## What is shown"]
    assert lines[2].startswith("v3 is confirmed better than v0 by 0.185 [0.144, 0.226] on 400 blind items.")


def test_it_has_the_sections_of_the_other_report() -> None:
    titles = [section.title for section in contents(document(), history(), ENGLISH).sections]
    assert [f"## {title}" in written() for title in titles] == [True] * len(titles)


def test_every_row_of_a_table_has_its_cells() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", written(brief="a | b", machine="x | y"), re.MULTILINE)
    assert len(tables) > 8
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_pictures_are_told_and_have_their_figures() -> None:
    text = written()
    assert "### Evidence of the comparison\n\nr1c1 against v0: 38 won, 11 lost" in text
    assert "<svg" not in text


def test_a_diff_with_fences_of_its_own_stays_within_one() -> None:
    rounds = document()["rounds"]
    rounds[0]["candidates"][0]["proposal"]["diff"] = "```\n# not a heading\n````"
    text = written(rounds=rounds)
    assert "`````\n```\n# not a heading\n````\n`````" in text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("# no heading", "\\# no heading"),
        ("- no list", "\\- no list"),
        ("1. no list", "1\\. no list"),
        ("> no quotation", "\\> no quotation"),
        ("*no* _emphasis_ `code` ~~gone~~", "\\*no\\* \\_emphasis\\_ \\`code\\` \\~\\~gone\\~\\~"),
        ("<b>&amp;", "\\<b>&amp;amp;"),
        ("[a](http://example.org)", "[a\\](http://example.org)"),
        ("[a]: http://example.org", "[a\\]: http://example.org"),
        ("a\nb", "a b"),
        ("+0.185 [+0.144, +0.226] of model_usd_cap", "+0.185 [+0.144, +0.226] of model_usd_cap"),
        ("a | b \\ c", "a \\| b \\\\ c"),
    ],
)
def test_what_markdown_would_take_for_its_own_is_escaped(text: str, safe: str) -> None:
    assert escaped(text) == safe


def test_a_record_of_nulls_is_a_report_of_dashes() -> None:
    nulls = dict.fromkeys(document())
    told = markdown(nulls, None, ENGLISH)
    assert told.startswith("# Report of run —\n\n## What is shown\n\nNothing was shown")
    assert "None" not in told.replace("None on record", "")
