"""Looks of a certification: shown while pairs are measured, the same however often it is broken off."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from dry import QUALITY, TASK, asked, place
from harness import carry, finish, installation, log_of, looks, request
from scripted import Reply, Request, ScriptedServer

from everloop.domains.synthetic import answer_to
from everloop.service import history, run_control
from everloop.service.installation import Installation


def modest(request: Request) -> Reply:
    """A student that a better prompt helps a little: no certification is decided at its first look."""
    task = TASK.findall(request.last)[-1]
    quality = 0.55 if QUALITY.search(request.text) else 0.4
    luck = int.from_bytes(hashlib.sha256(f"luck of {task}".encode()).digest()[:4], "big") / 2**32
    return Reply(f"It is {answer_to(task)}." if luck < quality else "It is 000000.", input_tokens=20, output_tokens=5)


def comparison(home: Installation, run: str = "dry-1") -> Any:
    return history.of(home, run)["comparison"]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The same run with nothing in its way."""
    with ScriptedServer(modest) as server:
        home = place(tmp_path_factory.mktemp("quiet"), server)
        assert carry(home, asked(rounds=1), seconds=150)["state"] == "finished", log_of(home)
    return home


def test_a_comparison_that_breaks_off_shows_its_looks_and_is_taken_up_as_if_undisturbed(
    tmp_path: Path, database_url: str, quiet: Installation
) -> None:
    homes: list[Installation] = []
    breaks = [True]

    def script(request: Request) -> Reply:
        look = breaks[0] and len(server.requests) % 8 == 0  # a batch of pairs is more requests than that
        return Reply(fault="503") if look and looks(homes[0], "dry-1") else modest(request)

    with ScriptedServer(script) as server:
        home = place(tmp_path / "home", server, database_url, model_retries=0)
        homes.append(home)
        assert carry(home, asked(rounds=1), seconds=150)["state"] == "paused", log_of(home)
        broken, breaks[0] = comparison(home), False
        assert (len(broken["looks"]), broken["stopped"]) == (1, None)
        assert broken["looks"][0] | {"at": ""} == comparison(quiet)["looks"][0] | {"at": ""}
        run_control.resume(home, "dry-1")
        assert finish(home, "dry-1", seconds=150)["state"] == "finished"
    assert looks(home, "dry-1") == looks(quiet, "dry-1")
    assert comparison(home)["looks"][0] == broken["looks"][0], "seen again, it keeps its time"


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Installation, dict[str, Any]]:
    home = installation(tmp_path_factory.mktemp("carried"))
    return home, carry(home, request("t", rounds=1, options={"seed": 5}))


def test_the_last_look_is_what_the_certification_rests_on(carried: tuple[Installation, dict[str, Any]]) -> None:
    home, document = carried
    found = comparison(home, "t")
    candidate = document["rounds"][0]["candidates"][0]
    figures, last = candidate["certification"], found["looks"][-1]
    assert (found["candidate"], found["against"], found["round"]) == (candidate["candidate"], figures["against"], 1)
    assert [last[name] for name in ("pairs", "wins", "losses", "log_e")] == [
        figures[name] for name in ("pairs", "wins", "losses", "log_e")
    ]
    assert (found["threshold"], found["stopped"]) == (figures["threshold"], figures["stopped"])
    assert found["alpha"] == document["claims"][0]["alpha"]


def test_looks_come_in_order_and_futility_stands_beside_the_evidence(
    carried: tuple[Installation, dict[str, Any]],
) -> None:
    found = comparison(carried[0], "t")
    pairs = [look["pairs"] for look in found["looks"]]
    assert pairs == sorted(set(pairs)) and pairs[-1] <= found["max_pairs"]
    assert all(look["log_e"] < found["threshold"] for look in found["looks"][:-1])
    assert all(look["futility"] < found["futility_threshold"] for look in found["looks"][:-1])


def test_every_phase_has_a_begin_and_an_end(carried: tuple[Installation, dict[str, Any]]) -> None:
    told: Any = history.of(carried[0], "t")["phases"]
    assert {"begin", "baseline", "evaluate", "certify", "end"} <= {one["phase"] for one in told}
    assert all(one["started_at"] <= one["ended_at"] and one["seconds"] >= 0 for one in told)
    assert [one["ended_at"] for one in told] == sorted(one["ended_at"] for one in told)
    assert {one["candidate"] for one in told if one["phase"] == "evaluate"} == {"r1c1"}
