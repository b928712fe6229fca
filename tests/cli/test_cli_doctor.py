from __future__ import annotations

import json
import socket
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from scripted import ScriptedServer

from everloop.cli import checks
from everloop.cli.main import el
from everloop.cli.model_checks import model_checks
from everloop.gateway.base import KeySource, ModelEntry
from everloop.gateway.probe import Pace
from everloop.service import models
from everloop.service.installation import open_installation
from everloop.settings import Settings
from everloop.store import models as rows
from everloop.store.database import Database

SECRET = "hunter2"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"EVERLOOP_HOME": str(tmp_path / "home"), "EVERLOOP_DATABASE_URL": ""}


def test_a_sound_machine_passes(environment: dict[str, str]) -> None:
    done = CliRunner().invoke(el, ["doctor", "--json"], env=environment)
    told = json.loads(done.stdout)
    assert done.exit_code == 0
    assert told["ok"] is True
    assert {check["check"] for check in told["checks"]} == {check.__name__ for check in checks.CHECKS} | {"models"}


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


PACE = Pace(step=1.0, idle=0.1)


def configured(home: Path, *bases: str) -> Settings:
    """Settings of an installation with a model for each base URL, named after its place."""
    settings = Settings(home=home)
    installation = open_installation(settings)
    for place, base in enumerate(bases):
        entry = ModelEntry(
            name=f"m{place}",
            provider="openai",
            model="scripted",
            base_url=base,
            input_usd_per_mtok=0.0,
            output_usd_per_mtok=0.0,
            key_source=KeySource.FILE,
        )
        models.add(installation, entry, SECRET)
    installation.close()
    return settings


def test_without_models_it_says_how_to_add_one_and_who_needs_none(tmp_path: Path) -> None:
    (found,) = model_checks(Settings(home=tmp_path), [checks.database(Settings(home=tmp_path))])
    assert (found.check, found.result, found.told) == ("models", "warn", "none configured")
    assert "el model add" in found.then
    assert "live runs of nano need none" in found.then


def test_each_model_is_walked_to_its_first_broken_link(tmp_path: Path) -> None:
    with ScriptedServer() as server, socket.create_server(("127.0.0.1", 0)) as closing:
        closed = closing.getsockname()[1]
        closing.close()
        settings = configured(tmp_path, f"http://127.0.0.1:{closed}/v1", server.url)
        found = model_checks(settings, [], PACE)
    assert [(check.check, check.result) for check in found] == [
        ("model m0 network", "fail"),
        ("model m1 network", "ok"),
        ("model m1 endpoint", "ok"),
        ("model m1 library", "ok"),
        ("model m1 concurrency", "ok"),
        ("model m1 connection", "ok"),
    ]
    assert SECRET not in repr(found)


def test_models_that_hang_are_walked_to_side_by_side(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        settings = configured(tmp_path, *[url] * 6)
        begun = time.monotonic()
        found = model_checks(settings, [], PACE)
    assert time.monotonic() - begun < 4
    assert [check.check for check in found if check.result == "fail"] == [
        f"model m{place} endpoint" for place in range(6)
    ]


def test_a_broken_model_makes_the_doctor_end_with_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closing:
        closed = closing.getsockname()[1]
    configured(tmp_path, f"http://127.0.0.1:{closed}/v1")
    done = CliRunner().invoke(el, ["doctor", "--json"], env={"EVERLOOP_HOME": str(tmp_path)})
    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert told["ok"] is False
    assert set(told["checks"][-1]) == {"check", "result", "told", "then"}
    assert "connections are refused" in told["checks"][-1]["told"]
    assert SECRET not in done.output


def test_models_are_not_looked_at_when_the_database_is_away(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url="postgresql://me@127.0.0.1:1/none")
    (found,) = model_checks(settings, [checks.database(settings)])
    assert (found.check, found.result) == ("models", "warn")
    assert "database" in found.then


def test_an_entry_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    settings = configured(tmp_path)
    database = Database(settings.url)
    with database.write() as tx:
        rows.put(tx, "newer", {"uses": [], "key_source": "none", "unheard_of": True})
    database.close()
    (found,) = model_checks(settings, [])
    assert (found.check, found.result) == ("models", "fail")
