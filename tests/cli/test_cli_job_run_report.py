"""``el job run report`` against a real server."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from remote_server import RealServer

from everloop.cli import job_run_report
from everloop.cli.main import el
from everloop.language import LANGUAGES
from everloop.store import phases, rounds, tables


def call(server: RealServer, *arguments: str) -> Result:
    return CliRunner().invoke(el, ["job", "run", *arguments], env=server.environment())


@pytest.fixture
def run(server: RealServer) -> str:
    begun = call(
        server, "start", "told", "--brief", "Carry <b>.", "--model-usd-cap", "1", "--domain", "synthetic", "--json"
    )
    assert begun.exit_code == 0 or "RSI_CONFLICT" in begun.output, begun.output
    return "told"


def test_the_file_is_html_where_its_name_says_so(server: RealServer, run: str, tmp_path: Path) -> None:
    file = tmp_path / "new" / "report.html"
    result = call(server, "report", run, "-o", str(file))
    assert (result.exit_code, result.stdout) == (0, f"{file}\n")
    text = file.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "Report of run told" in text
    assert "Nothing is shown yet." in text and "Carry &lt;b&gt;." in text


def test_the_file_is_markdown_where_its_name_says_so(server: RealServer, run: str, tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    assert call(server, "report", run, "-o", str(file)).exit_code == 0
    assert file.read_text(encoding="utf-8").startswith(
        "# Report of run told\n\n## What is shown\n\nNothing is shown yet."
    )


def test_a_file_that_is_there_is_replaced(server: RealServer, run: str, tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    file.write_text("old", encoding="utf-8")
    assert call(server, "report", run, "-o", str(file)).exit_code == 0
    assert "old" not in file.read_text(encoding="utf-8").splitlines()


def test_it_is_written_in_the_language_that_is_asked_for(server: RealServer, run: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    result = call(server, "report", run, "-o", str(file), "--language", "zh-CN", "--json")
    assert json.loads(result.stdout) == {"run": run, "file": str(file), "language": "zh-CN"}
    assert '<html lang="zh-CN">' in file.read_text(encoding="utf-8")


def test_the_languages_offered_are_those_that_there_are() -> None:
    assert list(job_run_report.LANGUAGES) == list(LANGUAGES)


@pytest.mark.parametrize("name", ["report", "report.pdf", "report.html.gz"])
def test_another_ending_is_refused_before_anything_is_asked(tmp_path: Path, name: str) -> None:
    result = CliRunner().invoke(el, ["job", "run", "report", "told", "-o", str(tmp_path / name)])
    assert result.exit_code == 2
    assert "must end in .html or .md" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_not_there_leaves_no_file(server: RealServer, tmp_path: Path) -> None:
    result = call(server, "report", "nothing", "-o", str(tmp_path / "report.html"))
    assert (result.exit_code, list(tmp_path.iterdir())) == (3, [])
    assert "RSI_RUN_NOT_FOUND" in result.stderr


@pytest.fixture(scope="module")
def lost(server: RealServer) -> str:
    """A run whose past cannot be read."""
    begun = call(server, "start", "lost", "--brief", "x", "--model-usd-cap", "1", "--domain", "synthetic", "--json")
    assert begun.exit_code == 0, begun.output
    ended: Any = {"decision": "kept", "summary": "", "version": None, "plan": "", "spend": {"total_usd": 0.5}}
    with server.installation.database.write() as tx:
        rounds.begin(tx, "lost", 1)
        phases.add(tx, "lost", 1, "open", "", {"spend": ["?"]})
        rounds.finish(tx, "lost", 1, **ended)
    return "lost"


@pytest.mark.parametrize("ending", ["html", "md"])
@pytest.mark.parametrize("tag", LANGUAGES)
def test_a_past_that_cannot_be_read_is_told_in_the_report(
    server: RealServer, lost: str, tmp_path: Path, tag: str, ending: str
) -> None:
    file = tmp_path / f"report.{ending}"
    result = call(server, "report", lost, "-o", str(file), "--language", tag)
    assert (result.exit_code, result.stdout) == (0, f"{file}\n"), result.output
    told = html.unescape(file.read_text(encoding="utf-8"))
    said = "What is on record of this run's past cannot be read. Evidence, spend and phases below lack it;"
    assert LANGUAGES[tag].say(f"{said} that does not mean that there was none.") in told


def test_a_record_that_cannot_be_read_at_all_is_refused(server: RealServer, run: str, tmp_path: Path) -> None:
    broken = call(server, "start", "broken", "--brief", "x", "--model-usd-cap", "1", "--domain", "synthetic")
    assert broken.exit_code == 0, broken.output
    with server.installation.database.write() as tx:
        tx.execute(sa.update(tables.runs).where(tables.runs.c.run == "broken").values(protocol={}))
    result = call(server, "report", "broken", "-o", str(tmp_path / "report.html"))
    assert (result.exit_code, list(tmp_path.iterdir())) == (4, [])
    assert "there is no report of run broken, since its record cannot be read" in result.stderr


def test_a_place_where_nothing_may_be_written_is_told(server: RealServer, run: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = call(server, "report", run, "-o", str(tmp_path / "file" / "report.html"))
    assert result.exit_code == 1
    assert "could not be written" in result.stderr
