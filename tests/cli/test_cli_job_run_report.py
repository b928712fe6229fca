"""``el job run report`` against a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from remote_server import RealServer

from everloop.cli import job_run_report
from everloop.cli.main import el
from everloop.language import LANGUAGES


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


def test_a_place_where_nothing_may_be_written_is_told(server: RealServer, run: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = call(server, "report", run, "-o", str(tmp_path / "file" / "report.html"))
    assert result.exit_code == 1
    assert "could not be written" in result.stderr
