"""The catalogues: up to date with the texts in the code, whole, and built."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

from everloop.language.catalogue import DOMAIN, LANGUAGES, TRANSLATIONS
from everloop.language.refusals import SENTENCES

ROOT = Path(__file__).parents[2]
SOURCES = sorted(TRANSLATIONS.rglob("*.po"))
PLACEHOLDER = re.compile(r"%\(\w+\)[#0\- +]?\d*(?:\.\d+)?[a-z]|%%")


def extracted(tmp_path: Path) -> Catalog:
    """Every text in the code, found as `make translations` finds it."""
    recipe = (ROOT / "Makefile").read_text().partition("pybabel -q extract ")[2].partition("--project")[0]
    options = [one.replace("../babel.cfg", str(ROOT / "babel.cfg")) for one in recipe.split()]
    found = tmp_path / "texts.pot"
    command = [sys.executable, "-m", "babel.messages.frontend", "-q", "extract", *options, "-o", str(found), "."]
    subprocess.run(command, cwd=ROOT / "src", check=True, capture_output=True)
    with found.open("rb") as read:
        return read_po(read)


def catalogue(source: Path) -> Catalog:
    with source.open("rb") as read:
        return read_po(read)


def messages(source: Path) -> Iterator[Message]:
    return (message for message in catalogue(source) if message.id)


def first(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def said(message: Message) -> tuple[str, ...]:
    return (message.string,) if isinstance(message.string, str) else tuple(message.string)


def placeholders(text: str) -> list[str]:
    return sorted(PLACEHOLDER.findall(text))


def test_there_is_a_catalogue_for_every_language_but_english() -> None:
    assert {source.parent.parent.name for source in SOURCES} == {
        tag.replace("-", "_") for tag in LANGUAGES if tag != "en"
    }
    assert {source.stem for source in SOURCES} == {DOMAIN}


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.parent.parent.name)
def test_a_catalogue_has_just_the_texts_of_the_code(source: Path, tmp_path: Path) -> None:
    """If not: `make translations`, then translate what is new."""
    wanted = {message.id for message in extracted(tmp_path) if message.id}
    found = {message.id for message in messages(source)}
    assert (sorted(map(str, wanted - found)), sorted(map(str, found - wanted))) == ([], [])


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.parent.parent.name)
def test_every_text_is_translated(source: Path) -> None:
    assert [message.id for message in messages(source) if not all(said(message)) or message.fuzzy] == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.parent.parent.name)
def test_a_translation_has_the_same_placeholders_as_the_text(source: Path) -> None:
    """Of a text with a plural, those of either form: a language may count where English says "a"."""
    wrong = []
    for message in messages(source):
        forms = (message.id,) if isinstance(message.id, str) else message.id
        good = [placeholders(form) for form in forms]
        wrong += [text for text in said(message) if placeholders(text) not in good]
    assert wrong == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.parent.parent.name)
def test_no_half_width_mark_ends_a_chinese_sentence(source: Path) -> None:
    assert [
        text for message in messages(source) for text in said(message) if re.search("[一-鿿][,;:?!](?!\\d)", text)
    ] == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.parent.parent.name)
def test_the_built_catalogue_says_what_its_source_says(source: Path) -> None:
    """If not: `make translations`."""
    with source.with_suffix(".mo").open("rb") as read:
        built = read_mo(read)
    assert {first(one): said(one) for one in built if one.id} == {first(one): said(one) for one in messages(source)}


def test_templates_translate_literal_texts_only() -> None:
    """`_()` of a variable is found by no extraction, and a % in it would break the page."""
    wrong = []
    for template in (ROOT / "src").rglob("templates/**/*.html"):
        text = template.read_text()
        wrong += [f"{template.name}: {one}" for one in re.findall(r"\b(?:_|ngettext)\((?!\s*[\"']).{20}", text, re.S)]
        wrong += [f"{template.name}: {one}" for one in re.findall(r"language\.(?:say|count)\([\"'].{20}", text, re.S)]
    assert wrong == []


def test_the_sentences_of_errors_are_those_that_errors_have() -> None:
    code = "\n".join(one.read_text() for one in (ROOT / "src").rglob("*.py") if one.name != "refusals.py")
    assert [sentence for sentence in SENTENCES if f'"{sentence}"' not in code] == []


def test_the_build_hook_alone_builds_the_catalogues(tmp_path: Path) -> None:
    """`make translations` runs it, and installing does."""
    for source in SOURCES:
        copy = tmp_path / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True)
        copy.write_bytes(source.read_bytes())
    runpy.run_path(str(ROOT / "hatch_build.py"))["build"](tmp_path)
    assert [(tmp_path / one.relative_to(ROOT)).with_suffix(".mo").exists() for one in SOURCES] == [True] * len(SOURCES)
    recipe = (ROOT / "Makefile").read_text()
    assert "hatch_build.py\n" in recipe and "write_mo" not in recipe
