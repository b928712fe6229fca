"""Rows: a table on a terminal, tab-separated elsewhere; and completion by the shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner
from remote_server import Answer, Asked, StandIn

from everloop.cli.main import el
from everloop.cli.table import GAP, echo, fitting, plain

Make = Callable[[Callable[[Asked], Answer]], StandIn]
ROW = {
    "run": "carry-1",
    "state": "running",
    "round": 1,
    "rounds_target": 3,
    "best_version": None,
    "spend": {"total_usd": 0.5},
    "updated_at": "2026-01-01T00:00:00Z",
}


def listing(stand_in: Make) -> StandIn:
    return stand_in(lambda _: (200, {"items": [ROW], "next_cursor": None}, {}))


def on_a_terminal(url: str, **more: str) -> str:
    environment = {**os.environ, "EVERLOOP_BASE_URL": url, "TERM": "xterm-256color", "COLUMNS": "120", **more}
    environment = {name: value for name, value in environment.items() if value}
    argv = ["-m", "everloop.cli.main", "job", "run", "list"]
    child = pexpect.spawn(sys.executable, argv, env=environment, encoding="utf-8", timeout=30, dimensions=(24, 120))
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    return str(child.before)


def test_a_pipe_gets_tab_separated_lines_without_a_head(stand_in: Make) -> None:
    result = CliRunner().invoke(el, ["job", "run", "list"], env={"EVERLOOP_BASE_URL": listing(stand_in).url})
    assert result.stdout == "carry-1\trunning\t1/3\t—\t$0.50\t2026-01-01T00:00:00Z\n"


def test_a_terminal_gets_a_table_with_a_head(stand_in: Make) -> None:
    told = on_a_terminal(listing(stand_in).url, NO_COLOR="")
    assert "RUN" in told and "UPDATED" in told and "carry-1" in told and "\t" not in told


def test_no_color_is_kept(stand_in: Make) -> None:
    served = listing(stand_in)
    assert "\x1b[3" not in on_a_terminal(served.url, NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(served.url, NO_COLOR="", TERM="dumb")


def test_an_empty_list_says_how_to_begin_and_prints_nothing_to_a_pipe(stand_in: Make) -> None:
    served = stand_in(lambda _: (200, {"items": [], "next_cursor": None, "start": "hint"}, {}))
    result = CliRunner().invoke(el, ["job", "run", "list"], env={"EVERLOOP_BASE_URL": served.url})
    assert result.stdout == "" and "el job run start" in result.stderr


def test_a_run_that_waits_for_a_person_shows_its_approval(stand_in: Make) -> None:
    waiting = {"approval_id": "apr-1", "candidate": "r1c1", "state": "pending", "reason": None}
    served = stand_in(lambda _: (200, {"run": "r", "state": "paused", "approvals": [waiting]}, {}))
    result = CliRunner().invoke(el, ["job", "run", "get", "r"], env={"EVERLOOP_BASE_URL": served.url})
    assert result.stdout.endswith("\nApprovals\napr-1\tr1c1\tpending\t—\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [("a\tb\nc", "a b c"), ("\x1b]0;x\x07", "�]0;x�"), ("进步\u3000é\xa0", "进步\u3000é\xa0"), ("\u202e", "�")],
)
def test_text_is_made_safe_for_a_terminal(text: str, told: str) -> None:
    assert plain(text) == told


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_that_names_the_program(shell: str) -> None:
    result = CliRunner().invoke(el, ["completion", shell])
    assert result.exit_code == 0 and "_EL_COMPLETE" in result.stdout


def test_bash_completes_commands_and_options() -> None:
    script = """
        eval "$(el completion bash)"
        COMP_WORDS=(el job run s) COMP_CWORD=3
        _el_completion el
        echo "${COMPREPLY[@]}"
        COMPREPLY=() COMP_WORDS=(el job run live --f) COMP_CWORD=4
        _el_completion el
        echo "${COMPREPLY[@]}"
    """
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["start steer stop", "--follow"], done.stderr


def test_json_holds_nothing_that_a_terminal_obeys(stand_in: Make) -> None:
    text = "\x1b[2J \x9b2J \u202e \ud800 进步\n"
    served = stand_in(lambda _: (200, {"brief": text}, {}))
    result = CliRunner().invoke(el, ["job", "run", "get", "r", "--json"], env={"EVERLOOP_BASE_URL": served.url})
    assert json.loads(result.stdout) == {"brief": text}
    assert "进步" in result.stdout and all(one.isprintable() for one in result.stdout if one != "\n")


@pytest.mark.parametrize("command", ["job run start", "job submit", "checkpoint download", "auth login", "completion"])
def test_help_of_a_remote_command_imports_nothing_heavy(command: str) -> None:
    code = (
        "import sys\nfrom everloop.cli.main import el\n"
        f"el({[*command.split(), '--help']!r}, standalone_mode=False)\n"
        "print([name for name in ('httpx2', 'rich', 'pydantic', 'sqlalchemy', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


COLUMNS = ("RUN", "STATE", "REASON", "BEST", "UPDATED")
CELLS = [["carry-" + "x" * 40, "running", "words " * 30, "v1", "2026-01-01T00:00:00Z"]]


@pytest.mark.parametrize(
    ("width", "shown"),
    [(120, COLUMNS), (95, ("RUN", "STATE", "REASON", "UPDATED")), (75, ("RUN", "STATE", "REASON"))],
)
def test_a_narrow_terminal_does_without_what_is_missed_least(width: int, shown: tuple[str, ...]) -> None:
    places, needed = fitting(COLUMNS, CELLS, width)
    assert tuple(COLUMNS[place] for place in places) == shown and needed <= width


@pytest.mark.parametrize("width", [20, 60, 90, 200])
def test_an_id_is_never_broken_or_cut(width: int, stand_in: Make) -> None:
    name, at = "carry-" + "x" * 58, "2026-01-01T00:00:00.123456Z"
    row = ROW | {"run": name, "updated_at": at}
    served = stand_in(lambda _: (200, {"items": [row], "next_cursor": None}, {}))
    told = on_a_terminal(served.url, NO_COLOR="1", COLUMNS=str(width))
    assert name in told and ".123456" not in told
    assert ("2026-01-01T00:00:00Z" in told) == (width == 200)


def test_the_gap_is_that_of_the_box(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "300")
    echo(("A", "B"), [["x", "y"]])
    assert f"x{' ' * GAP}y" in capsys.readouterr().out


@pytest.mark.parametrize("words", ["key list", "model list", "gateway key list", "approve list", "audit"])
def test_an_empty_list_is_a_sentence_on_standard_error(words: str) -> None:
    result = CliRunner().invoke(el, words.split())
    assert (result.exit_code, result.stdout) == (0, "") and len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", ["key list", "member list", "project list", "model list", "approve list", "audit"])
def test_json_of_every_list_is_indented_alike(words: str) -> None:
    told = CliRunner().invoke(el, [*words.split(), "--json"]).stdout
    assert told == json.dumps(json.loads(told), indent=2, ensure_ascii=False) + "\n"
