"""A client of `el up`: it finds the server again after each restart, which gives it another key and another port."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from remote_server import Answer, Asked, StandIn
from served import Served

from everloop import AsyncClient, Client
from everloop.client import Connection, RemoteError, Unreachable
from everloop.events import Event, EventKind, Json
from everloop.service import run_start
from everloop.store import events
from everloop.store import runs as stored_runs

Make = Callable[[Callable[[Asked], Answer]], StandIn]
STOPS = pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """An `el up` whose connection this process finds by itself."""
    monkeypatch.setenv("EVERLOOP_HOME", str(tmp_path / "home"))
    with Served(tmp_path / "home", workers=0) as server:
        yield server


def begin(served: Served, run: str) -> None:
    with served.installation() as opened:
        run_start.start_document(
            opened, {"run": run, "brief": "b", "domain": "synthetic", "limits": {"model_usd_cap": 1}}
        )


def happen(served: Served, run: str, count: int, state: str | None = None) -> None:
    told = [Event(EventKind.MESSAGE, f"event {place}") for place in range(count)]
    with served.installation() as opened, opened.database.write() as tx:
        events.append(tx, run, *told)
        if state is not None:
            stored_runs.update(tx, run, state=state)


def restart(served: Served, run: str, how: signal.Signals, *port: str) -> None:
    """End it, have 250 events without it, start it again elsewhere or on a port, have the last 99."""
    if how == signal.SIGKILL:
        for child in served.children().get("everloop.server", []):
            child.kill()
    served.stop(how)
    happen(served, run, 250)
    served.start(*port)
    happen(served, run, 99, "finished")


def seqs(document: Json) -> list[object]:
    found = document["events"]
    assert isinstance(found, list)
    return [event["seq"] for event in found if isinstance(event, dict)]


@STOPS
def test_a_restart_on_the_same_port_with_another_key_loses_and_repeats_nothing(
    served: Served, how: signal.Signals
) -> None:
    begin(served, "cut")
    happen(served, "cut", 100)
    before, seen = (served.url, served.key), list[object]()
    port = served.url.rsplit(":", 1)[1]
    restarting = threading.Thread(target=restart, args=(served, "cut", how, "--port", port))
    with Client() as client:
        for document in client.follow("cut", poll_seconds=0.05):
            seen += seqs(document)
            if restarting.ident is None:
                restarting.start()
        restarting.join()
        assert (client.connection.base_url, client.connection.api_key) == (served.url, served.key) != before
    assert seen == list(range(1, 451))


def test_the_async_client_outlasts_it_as_well(served: Served) -> None:
    begin(served, "cut")
    happen(served, "cut", 100)

    async def follow() -> list[object]:
        seen = list[object]()
        restarting: asyncio.Future[None] | None = None
        async with AsyncClient() as client:
            async for document in client.follow("cut", poll_seconds=0.05):
                seen += seqs(document)
                if restarting is None:
                    restarting = asyncio.ensure_future(asyncio.to_thread(restart, served, "cut", signal.SIGTERM))
        assert restarting is not None
        await restarting
        return seen

    assert asyncio.run(follow()) == list(range(1, 451))


def test_a_command_that_follows_outlasts_it(served: Served) -> None:
    import subprocess

    from served import EL

    begin(served, "cut")
    happen(served, "cut", 100)
    environment = {**served.environment, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*EL, "job", "run", "live", "cut", "--follow"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None and following.stderr is not None
        told = [following.stdout.readline() for _ in range(101)]
        restart(served, "cut", signal.SIGTERM)
        told += following.stdout.read().splitlines(keepends=True)
        assert following.wait(30) == 0, following.stderr.read()
    assert [line.split(" ")[0] for line in told[:-1]] == [str(seq) for seq in range(1, 451)]
    assert told[-1] == "state: finished\n"


def written(home: Path, url: str, key: str) -> None:
    """What `el up` writes, whole or not at all."""
    made = home / "made.json"
    made.write_text(json.dumps({"url": url, "api_key": key}), encoding="utf-8")
    made.replace(home / "connection.json")


def keyed(good: str) -> Callable[[Asked], Answer]:
    def answer(asked: Asked) -> Answer:
        if asked.headers.get("authorization") == f"Bearer {good}":
            return 200, {"subject": "s"}, {}
        return 401, {"code": "UNAUTHORIZED", "message": "m"}, {}

    return answer


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVERLOOP_HOME", str(tmp_path))
    return tmp_path


def test_a_refused_key_is_read_again(home: Path, stand_in: Make) -> None:
    served = stand_in(keyed("elk_new_b"))
    written(home, served.url, "elk_old_a")
    with Client() as client:
        written(home, served.url, "elk_new_b")
        assert client.me() == {"subject": "s"}
    assert len(served.asked) == 2


def test_a_server_that_moved_is_asked_where_it_is_now(home: Path, stand_in: Make) -> None:
    written(home, "http://127.0.0.1:1", "elk_old_a")
    with Client() as client:
        written(home, stand_in(keyed("elk_new_b")).url, "elk_new_b")
        assert client.me() == {"subject": "s"}


def test_a_key_that_stays_refused_ends_after_a_few_tries(home: Path, stand_in: Make) -> None:
    served = stand_in(keyed("elk_new_b"))
    written(home, served.url, "elk_old_a")
    with Client() as client, pytest.raises(RemoteError) as raised:
        client.me()
    assert raised.value.http == 401 and len(served.asked) == 4


def test_a_key_refused_while_no_el_up_is_written_down_is_waited_for(home: Path, stand_in: Make) -> None:
    served = stand_in(keyed("elk_new_b"))
    written(home, served.url, "elk_old_a")
    with Client() as client:
        (home / "connection.json").unlink()
        with pytest.raises(Unreachable) as raised:
            client.me()
    assert raised.value.passing


def test_a_connection_that_was_given_is_never_exchanged(
    home: Path, stand_in: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = stand_in(keyed("elk_new_b"))
    written(home, served.url, "elk_new_b")
    monkeypatch.setenv("EVERLOOP_API_KEY", "elk_old_a")
    given = [Client(served.url, api_key="elk_old_a"), Client()]
    given.append(Client.of(Connection(served.url, "elk_old_a", url_from="el up", key_from="el up")))
    for client in given:
        with client, pytest.raises(RemoteError):
            client.me()
    assert len(served.asked) == 3


def test_a_request_that_may_have_been_carried_out_is_not_sent_again(home: Path, stand_in: Make) -> None:
    served = stand_in(lambda _: (200, b"{", {"Content-Length": "999", "Connection": "close"}))
    written(home, served.url, "elk_old_a")
    with Client() as client:
        written(home, served.url, "elk_new_b")
        with pytest.raises(Unreachable):
            client.steer("r", "text")
    assert len(served.asked) == 1
