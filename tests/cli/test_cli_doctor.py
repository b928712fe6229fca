from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from everloop.cli import checks
from everloop.cli.main import el
from everloop.settings import Settings

SECRET = "hunter2"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"EVERLOOP_HOME": str(tmp_path / "home"), "EVERLOOP_DATABASE_URL": ""}


def test_a_sound_machine_passes(environment: dict[str, str]) -> None:
    done = CliRunner().invoke(el, ["doctor", "--json"], env=environment)
    told = json.loads(done.stdout)
    assert done.exit_code == 0
    assert told["ok"] is True
    assert {check["check"] for check in told["checks"]} == {check.__name__ for check in checks.CHECKS}


def test_a_home_that_cannot_be_made_fails_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    env = {"EVERLOOP_HOME": str(tmp_path / "file" / "home"), "EVERLOOP_DATABASE_URL": f"sqlite:///{tmp_path}/x.db"}
    done = CliRunner().invoke(el, ["doctor", "--json"], env=env)
    home = next(check for check in json.loads(done.stdout)["checks"] if check["check"] == "home")
    assert done.exit_code == 1
    assert home["result"] == "fail"
    assert "EVERLOOP_HOME" in home["then"]


def test_a_database_that_is_away_fails_at_once_and_keeps_its_password(tmp_path: Path) -> None:
    env = {"EVERLOOP_HOME": str(tmp_path), "EVERLOOP_DATABASE_URL": f"postgresql://me:{SECRET}@127.0.0.1:1/none"}
    done = CliRunner().invoke(el, ["doctor"], env=env)
    assert done.exit_code == 1
    assert "✗ database: postgresql://me:***@127.0.0.1:1/none" in done.output
    assert SECRET not in done.output


def test_a_url_that_cannot_be_read_fails(tmp_path: Path) -> None:
    found = checks.database(Settings(home=tmp_path, database_url="nonsense"))
    assert found.result == "fail"
    assert found.then


def test_other_threads_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert checks.threads(Settings()).result == "warn"


def test_little_room_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LEAST_FREE", 2**62)
    assert checks.home(Settings(home=tmp_path)).result == "fail"
