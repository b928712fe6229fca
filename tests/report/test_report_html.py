"""The report as HTML: whole, self-contained, and never broken by what is missing from the record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from html.parser import HTMLParser
from typing import Any

import pytest
from reported import document, final, history

from everloop.errors import RunUnreadable
from everloop.language import ENGLISH, LANGUAGES
from everloop.report.contents import contents
from everloop.report.html import html
from everloop.report.markdown import markdown
from everloop.service import unreadable

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Read(HTMLParser):
    """The elements of a document, with its words; every element that is opened must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words += data + " "


def words(text: str) -> str:
    return " ".join(Read(text).words.split())


def written(**changes: Any) -> str:
    return html(document(**changes), history(), ENGLISH)


def test_it_loads_nothing_and_runs_nothing() -> None:
    text = written()
    for tag, attributes in Read(text).elements:
        assert tag not in {"script", "link", "iframe", "object", "embed", "img", "base", "form"}
        assert not any(name.startswith("on") or name in {"src", "style", "srcset"} for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in text and "@import" not in text
    assert "default-src 'none'" in text


def test_it_begins_with_what_is_shown() -> None:
    told = words(written())
    assert told.index("v3 is confirmed better than v0") < told.index("Contents") < told.index("SHA-256 of the protocol")


@pytest.mark.parametrize(
    "told",
    [
        "SHA-256 of the protocol 1c71895a83958b01bea09cbf3b534722448aa235d3d399bf61f6a439537f728c",
        "Judge synthetic-exact 1",
        "dev 200 0 20",
        "2,000 1 1",
        "test.max_pairs 2000",
        "v1 certification 0.738 [0.706, 0.767] 800 0",
        "final gate v3 v0 yes 0.845 0.660 +0.185 [+0.144, +0.226] 400 38.74 5.30",
        "certified r1c1 v0 shown 0.005",
        "r1c1 was certified against v0 on fresh items: 38 won and 11 lost",
        "Train on verified samples of s3 and s4.",
        "+ families = s3, s4",
        "rationale r1c1 passed 4 parts with figures",
        "Models $0.00 $1.00",
        "Machine host-1, 8 cores, cpu x86_64, everloop 0.1.0",
        "model_usd_cap 1.0",
        "operator curriculum",
        "As the record stood at 2026-11-29 21:31:46 UTC.",
    ],
)
def test_it_holds_what_a_claim_rests_on(told: str) -> None:
    assert told in words(written())


def test_all_pictures_are_part_of_it() -> None:
    drawn = [attributes for tag, attributes in Read(written()).elements if tag == "svg" and attributes.get("role")]
    assert len(drawn) >= 4


def test_what_was_set_is_told_in_the_reader_s_language() -> None:
    protocol = document()["protocol"] | {"auditors": ["regression", "of-mine"], "verifier": "soft"}
    told = words(html(document(protocol=protocol, options={"final_at_end": True}), None, LANGUAGES["zh-CN"]))
    assert "退化, of-mine" in told and "final_at_end 是" in told
    assert f"{LANGUAGES['zh-CN'].say('Verifier')} {LANGUAGES['zh-CN'].say('soft')}" in told


def test_spaces_of_every_script_stay() -> None:
    told = Read(written(brief="算术\u3000进位\xa0题")).words
    assert "算术\u3000进位\xa0题" in told and "\N{REPLACEMENT CHARACTER}" not in told


def test_directives_and_approvals_are_told_in_full() -> None:
    asked = {"approval_id": "a-1", "candidate": "r1c1", "state": "rejected", "reason": "risky", "decided_by": "ada"}
    said = [{"text": "Prefer held-out families.", "author": "ada", "at": "2026-11-29T21:31:45.000000Z"}]
    told = words(written(approvals=[asked], directives=said))
    assert "a-1 r1c1 rejected risky ada — —" in told
    assert "2026-11-29 21:31:45 UTC ada Prefer held-out families." in told


def test_a_section_without_anything_on_record_says_so() -> None:
    assert "Approvals None on record." in words(written(approvals=[]))


def test_violations_of_a_gate_are_named_beside_it() -> None:
    told = words(written(gates=[final(passed=False, violations=["s1 fell by 0.200"])]))
    assert "final gate of v3: s1 fell by 0.200" in told


def test_words_of_the_record_are_text_and_nothing_else() -> None:
    evil = "</style><script>alert(1)</script><img src=x onerror=alert(1)>"
    text = html(_everywhere(document(), evil), _everywhere(history(), evil), ENGLISH)
    assert "<script" not in text and "<img" not in text
    assert text.count("</style>") == 1


def test_marks_that_turn_the_direction_of_the_text_are_not_repeated() -> None:
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in written(brief="harmless \N{RIGHT-TO-LEFT OVERRIDE} text")


def test_a_record_of_nulls_is_a_report_of_dashes() -> None:
    nulls = unreadable.detail("arith-carry-1", RunUnreadable("the record cannot be read"))
    told = words(html(nulls | {"state": "running"}, None, ENGLISH))
    assert told.startswith(
        "Report of run arith-carry-1 Report of run arith-carry-1 What is shown Nothing is shown yet."
    )
    assert "None" not in told.replace("None on record", "") and "nan" not in told


BROKEN: list[Any] = [None, float("nan"), "x", [], {}, -1, True]
"""What a record may hold in the place of anything."""


def wrong(value: Any) -> list[Any]:
    """What a record may hold in the place of this value: no object in the place of a word, no NaN for a count."""
    if isinstance(value, dict | list):
        return BROKEN
    return [None, "x", -1, True, *([float("nan"), float("inf")] if isinstance(value, float) else [])]


@pytest.mark.parametrize("shift", range(2))
def test_no_value_of_the_record_breaks_it(shift: int) -> None:
    whole, past = document(), history()
    for place, path in enumerate(_paths({"document": whole, "history": past})):
        broken = {"document": deepcopy(whole), "history": deepcopy(past)}
        if len(path) > 1:
            fitting = wrong(_at(whole, past, path))
            _replace(broken, path, fitting[(place + shift * 3) % len(fitting)])
        told = repr(contents(broken["document"], broken["history"], ENGLISH))
        assert "nan" not in told and "inf," not in told, path


@pytest.mark.parametrize("value", BROKEN, ids=repr)
def test_a_record_in_which_everything_is_the_same_breaks_nothing(value: Any) -> None:
    read = words(html(dict.fromkeys(document(), value), dict.fromkeys(history(), value), ENGLISH))
    assert "What is shown" in read and "nan" not in read


def test_without_a_history_it_is_written_from_the_run_document() -> None:
    assert "certified v1 2026-11-29 21:31:45 UTC" in words(html(document(), None, ENGLISH))


LACKING = (
    "What is on record of this run's past cannot be read. Evidence, spend and phases below lack it; that does not mean "
    "that there was none."
)


@pytest.mark.parametrize("tag", LANGUAGES)
@pytest.mark.parametrize("write", [html, markdown])
def test_a_past_that_cannot_be_read_is_told_before_what_lacks_it(write: Callable[..., str], tag: str) -> None:
    language = LANGUAGES[tag]
    said, section = language.say(LACKING), language.say("Gates and claims")
    told = write(document(), None, language).replace("&#39;", "'")
    assert -1 < told.index(said) < told.rindex(section)
    assert said not in write(document(), history(), language).replace("&#39;", "'")
    assert tag == "en" or said != LACKING


@pytest.mark.parametrize("tag", LANGUAGES)
def test_it_says_which_language_it_is_in(tag: str) -> None:
    assert f'<html lang="{tag}">' in html(document(), history(), LANGUAGES[tag])


def test_a_thousand_rounds_are_listed_and_the_newest_told_in_full() -> None:
    row, one = history()["rounds"][0], document()["rounds"][0]
    rounds = [row | {"round": number} for number in range(1, 1001)]
    newest = [one | {"round": number} for number in range(951, 1001)]
    spend = [history()["spend"][0] | {"round": number} for number in range(1, 1001)]
    text = html(document(rounds=newest, rounds_total=1000), history(rounds=rounds, spend=spend), ENGLISH)
    told = words(text)
    assert "The record has 1,000 rounds; the newest 50 are told in full below." in told
    assert told.index("Round 1000: certified") < told.index("Round 951: certified")
    assert len(re.findall(r'<th scope="row" class="figures">\d+</th>', text)) >= 1000
    assert len(text) < 1_000_000


def _everywhere(value: Any, text: str) -> Any:
    """The value with every string replaced, but for times and the words that say what things are."""
    if isinstance(value, dict):
        return {name: _everywhere(one, text) for name, one in value.items()}
    if isinstance(value, list):
        return [_everywhere(one, text) for one in value]
    return text if isinstance(value, str) else value


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        if name not in {"limits", "options"}:  # shown as they are, one like the other
            yield (*before, name)
            yield from _paths(one, (*before, name))


def _at(whole: Any, past: Any, path: tuple[Any, ...]) -> Any:
    found: Any = {"document": whole, "history": past}
    for name in path:
        found = found[name]
    return found


def _replace(whole: Any, path: tuple[Any, ...], value: object) -> None:
    for name in path[:-1]:
        whole = whole[name]
    whole[path[-1]] = value
