"""Every Python block of the docs runs, and every relative link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def _blocks() -> list[object]:
    found = []
    for page in PAGES:
        for place, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1):
            found.append(pytest.param(page, block, id=f"{page.name}-{place}"))
    return found


@pytest.mark.parametrize(("page", "block"), _blocks())
def test_python_block_runs(page: Path, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVERLOOP_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("EVERLOOP_DATABASE_URL", raising=False)
    exec(compile(block, f"{page.name}", "exec"), {"__name__": "__docs__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_resolve(page: Path) -> None:
    broken = []
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page if not path else page.parent / path
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            broken.append(target)
    assert broken == []


def _anchors(page: Path) -> set[str]:
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_page_is_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [
        page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md" and f"({page.name})" not in index
    ] == []
