"""Pictures as Chromium lays them out: on a telephone and on a wall, by day and by night."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import measuring
import pytest
from drawn import document, final, looks, many, phase, score, spent, version

import everloop.console
from everloop import pictures
from everloop.events import Json
from everloop.fields import parts
from everloop.language import ENGLISH, LANGUAGES, Language

FAMILIES = [score(0.2 + 0.11 * place, split=f"family-{place}") for place in range(7)]
CAPS: Json = {"usd_cap": 2.0, "model_usd_cap": 1.0}


def run(rounds: int) -> tuple[Json, Json]:
    """A run of so many versions and rounds."""
    shown = many(rounds)
    versions = parts(shown, "versions")
    for one in (versions[0], versions[-1]):
        one["scores"] = [*parts(one, "scores"), *FAMILIES]
    last = f"v{rounds - 1}"
    shown |= {"best_version": last, "gates": [final(True, last)], "limits": CAPS}
    names = ("diagnose", "propose", "collect", "train", "screen", "audit", "certify")
    phases = [
        phase(number, name, 100 * number + 10 * place, 100 * number + 10 * place + (number * 7 + place * 5) % 10)
        for number in range(max(1, rounds - 19), rounds + 1)
        for place, name in enumerate(names)
    ]
    comparison = looks(*(0.2 * place for place in range(rounds)), stopped="shown")
    spend = spent(*(0.9 * place / rounds for place in range(1, rounds + 1)))
    return shown, {"comparison": comparison, "spend": spend, "phases": phases}


BARE: tuple[Json, Json] = (
    document(version("v0"), version("v1", {"set": None, "mean": None}), version("v2", score(0.7, n=None))),
    {
        "comparison": looks(None, 1.0, threshold=None, futility_threshold=None, max_pairs=None),
        "spend": [{"round": None, "total_usd": 0.1}, {"at": "x", "total_usd": None}, {"total_usd": 0.2}],
        "phases": [{"round": 1, "phase": None, "seconds": None}, {"round": 1, "phase": "train", "seconds": 4.0}],
    },
)
RUNS = {"one": run(1), "three": run(3), "forty": run(40), "thousand": run(1000), "bare": BARE}
PAGES = [
    ("one", "en", "360", "light"),
    ("three", "en", "360", "dark"),
    ("three", "zh-CN", "360", "light"),
    ("three", "en", "1920", "light"),
    ("forty", "en", "360", "light"),
    ("forty", "en", "1920", "dark"),
    ("thousand", "en", "360", "light"),
    ("bare", "en", "360", "light"),
]


def page(shown: Json, past: Json, language: Language, sheet: Path) -> str:
    figures = "".join(
        f'<div class="card"><figure class="picture" id="{one.name}">{one.svg}</figure></div>'
        for one in pictures.of(shown, past, language)
        if one.svg
    )
    head = f'<meta charset="utf-8"><title>x</title><link rel="stylesheet" href="{sheet}">'
    return f'<!doctype html><html lang="{language.tag}">{head}<main class="page">{figures}</main></html>'


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """(run, language, width, scheme) -> what was measured of each picture."""
    folder = tmp_path_factory.mktemp("pages")
    sheet = Path(everloop.console.__file__).with_name("static") / "console.css"
    asked = []
    for name, tag, *look in PAGES:
        written = folder / f"{name}-{tag}.html"
        written.write_text(page(*RUNS[name], LANGUAGES.get(tag, ENGLISH), sheet), encoding="utf-8")
        asked += [str(written), *look]
    command = [sys.executable, measuring.__file__, *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    return dict(zip(PAGES, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("shown", PAGES, ids="-".join)
def test_words_are_legible_stay_inside_and_do_not_cover_each_other(
    laid_out: dict[tuple[str, ...], list[dict[str, Any]]], shown: tuple[str, ...]
) -> None:
    found = laid_out[shown]
    assert len(found) >= 4
    for one in found:
        assert one["smallest"] >= 11
        assert one["outside"] == []
        assert one["touching"] == []
        assert not one["sideways"]


@pytest.mark.parametrize("shown", PAGES, ids="-".join)
def test_every_mark_has_a_colour_of_the_page(
    laid_out: dict[tuple[str, ...], list[dict[str, Any]]], shown: tuple[str, ...]
) -> None:
    for one in laid_out[shown]:
        assert (one["name"], one["black"], one["unseen"]) == (one["name"], 0, 0)


def test_wide_pages_name_more_versions_than_narrow_ones(
    laid_out: dict[tuple[str, ...], list[dict[str, Any]]],
) -> None:
    narrow, wide = (laid_out["forty", "en", *look][0]["texts"] for look in (("360", "light"), ("1920", "dark")))
    assert wide > narrow + 9
