"""`el up` as it runs: real processes, real signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psutil
import pytest
from served import EL, PATIENCE, Served

from everloop.cli import children
from everloop.paths import Home
from everloop.service.caller import LOCAL
from everloop.service.keys import list_keys, state_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for all tests that leave it as it is."""
    with Served(tmp_path_factory.mktemp("up") / "home", workers=0) as served:
        yield served


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "home", workers=0) as served:
        yield served


def eventually(test: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def family(served: Served) -> list[psutil.Process]:
    return psutil.Process(served.process.pid).children(recursive=True)


def gone(processes: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=25)[1]


def test_it_answers_with_the_key_of_its_ready_file(server: Served) -> None:
    assert server.get("/v1/agent-runs/rsi/runs").status_code == 200
    assert server.get("/v1/agent-runs/rsi/runs", key="").status_code == 401


def test_connection_and_ready_file_say_the_same_and_are_for_their_owner(server: Served) -> None:
    connection = Home(server.home).connection
    assert json.loads(connection.read_text()) == {
        "url": server.url,
        "workspace_id": server.workspace,
        "project_id": server.project,
        "api_key": server.key,
    }
    files = [connection, server.home.parent / "home-ready.json", server.home / "server.log", server.home / "up.lock"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700


def test_the_server_process_never_loads_torch(server: Served) -> None:
    (process,) = server.children()["everloop.server"]
    job = {"type": "train", "spec": {"base_model": "nano", "rows": [], "steps": 1}}
    assert server.get("/v1/job/training-models").status_code == 200
    assert server.post("/v1/job", job).status_code == 422
    assert not [one.path for one in process.memory_maps() if "torch" in one.path]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_all_of_it_in_order(tmp_path: Path, how: signal.Signals) -> None:
    with Served(tmp_path / "home") as served:
        processes, key = family(served), served.key
        assert len(processes) >= 2
        assert served.stop(how) == 0
        assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes)
        assert not Home(served.home).connection.exists()
        assert not (tmp_path / "home-ready.json").exists()
        with served.installation() as opened:
            assert [state_of(row) for row in list_keys(opened, LOCAL)] == ["revoked"]
        assert key not in served.logs


def test_a_killed_one_takes_its_children_with_it_and_the_next_start_forgets_its_key(tmp_path: Path) -> None:
    with Served(tmp_path / "home") as served:
        processes, stale = family(served), served.key
        served.stop(signal.SIGKILL)
        assert gone(processes)
        assert Home(served.home).connection.exists()
        served.start()
        assert json.loads(Home(served.home).connection.read_text())["api_key"] == served.key != stale
        assert served.get("/v1/agent-runs/rsi/runs", key=stale).status_code == 401
        assert served.get("/v1/agent-runs/rsi/runs").status_code == 200


def test_a_second_one_in_the_same_home_is_refused(server: Served) -> None:
    done = run(server, "up", "--port", "0")
    assert done.returncode == 4
    assert "CONFLICT: `el up` runs already" in done.stderr and str(server.home) in done.stderr
    assert server.get("/v1/agent-runs/rsi/runs").status_code == 200


@pytest.mark.parametrize("command", ["up", "serve"])
def test_a_taken_port_is_one_sentence(tmp_path: Path, server: Served, command: str) -> None:
    other = Served(tmp_path / "other")
    done = run(other, command, "--port", server.url.rsplit(":", 1)[1])
    assert done.returncode == 4
    assert done.stderr.startswith("RSI_CONFLICT: port ") and len(done.stderr.splitlines()) == 1


def test_a_dead_server_ends_it_with_an_error(tmp_path: Path) -> None:
    with Served(tmp_path / "home") as served:
        processes = family(served)
        (process,) = served.children()["everloop.server"]
        process.kill()
        assert served.process.wait(PATIENCE) == 1
        assert "JOB_FAILED: the server ended: signal 9. See " in served.output.read_text()
        assert gone(processes)
        assert not Home(served.home).connection.exists()


def test_a_dead_worker_is_started_again_and_that_is_said(tmp_path: Path) -> None:
    with Served(tmp_path / "home") as served:
        (first,) = served.children()["everloop.loop.worker"]
        first.kill()
        eventually(lambda: f"worker {first.pid} ended (signal 9); another one starts in 1 s" in served.logs)
        eventually(lambda: [one for one in served.children().get("everloop.loop.worker", []) if one.pid != first.pid])
        assert served.get("/v1/agent-runs/rsi/runs").status_code == 200


def test_the_pause_before_a_worker_doubles_up_to_half_a_minute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Dead:
        pid = 1

        def poll(self) -> int:
            return 3

        def end(self, patience: float) -> None: ...

    told: list[str] = []
    kept = children.Children(None, Home(tmp_path), children.Ending(), told.append)
    clock = [0.0]
    monkeypatch.setattr(children, "keep", lambda *_: Dead())
    monkeypatch.setattr(children.time, "monotonic", lambda: clock[0])
    kept.work(1)
    for _ in range(7):
        kept._tend()
        clock[0] += 31
        kept._tend()
    pauses = [float(text.split(" starts in ")[1].split(" s;")[0]) for text in told]
    assert pauses[:7] == [1, 2, 4, 8, 16, 30, 30]
    clock[0] += 1000
    kept.workers[0].since = clock[0] - 61
    kept._tend()
    assert " starts in 1 s;" in told[-1]


def test_as_many_workers_as_wanted(tmp_path: Path) -> None:
    served = Served(tmp_path / "home", workers=2)
    with served:
        assert len(served.children()["everloop.loop.worker"]) == 2


def test_the_sign_in_link_is_printed_with_the_public_address(tmp_path: Path) -> None:
    with Served(tmp_path / "home", workers=0, EVERLOOP_PUBLIC_URL="https://loops.example.org/ours/") as served:
        assert served.link.startswith("https://loops.example.org/ours/sign-in/link?token=ell_")
        assert "Serving on https://loops.example.org/ours\n" in served.output.read_text()
        assert served.url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("command", ["up", "serve"])
def test_another_address_without_tls_is_refused(tmp_path: Path, command: str) -> None:
    done = run(Served(tmp_path / "home"), command, "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 1
    assert "0.0.0.0 is not served without TLS: keys would cross the network in clear text" in done.stderr


def test_serving_alone_has_no_key_and_no_worker(tmp_path: Path) -> None:
    with Served(tmp_path / "home", command="serve") as served:
        assert not family(served)
        assert not Home(served.home).connection.exists()
        key = served.new_key()
        assert served.get("/v1/agent-runs/rsi/runs", key=key).status_code == 200


def test_two_servers_share_one_home(tmp_path: Path, server: Served) -> None:
    with Served(server.home, command="serve") as other:
        assert other.get("/v1/agent-runs/rsi/runs", key=server.key).status_code == 200


def test_keys_and_queries_are_in_no_log(server: Served) -> None:
    for key in (server.key, "elk_000000000000_not-a-key", "els_000000000000_secret"):
        server.get("/v1/agent-runs/rsi/runs?token=secret-in-a-query", key=key)
        server.get("/sign-in/link?token=secret-in-a-query", key=key)
        server.post("/v1/agent-runs/rsi/runs", {"run": "BAD", "brief": key}, key=key)
    with socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1]))) as raw:
        raw.sendall(b"BAD secret-in-a-query " + server.key.encode() + b"\r\n\r\n")
        raw.recv(1000)
    told = server.logs
    assert "secret-in-a-query" not in told and server.key not in told and "not-a-key" not in told


def test_answers_do_not_name_the_software(server: Served) -> None:
    assert "server" not in server.get("/v1/agent-runs/rsi/runs").headers


def test_requests_under_way_are_answered_when_it_ends(own: Served) -> None:
    place = ("127.0.0.1", int(own.url.rsplit(":", 1)[1]))
    head = f"POST /v1/agent-runs/rsi/runs HTTP/1.1\r\nHost: {place[0]}\r\nAuthorization: Bearer {own.key}\r\n"
    with socket.create_connection(place, timeout=20) as raw:
        raw.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n".encode())
        time.sleep(0.3)
        own.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        raw.sendall(b"{}")
        assert raw.recv(4096).startswith(b"HTTP/1.1 422")
    assert own.process.wait(PATIENCE) == 0


def test_a_slow_request_does_not_hold_the_end_up_for_long(own: Served) -> None:
    place = ("127.0.0.1", int(own.url.rsplit(":", 1)[1]))
    head = f"POST /v1/agent-runs/rsi/runs HTTP/1.1\r\nHost: {place[0]}\r\nAuthorization: Bearer {own.key}\r\n"
    with socket.create_connection(place) as raw:
        raw.sendall(f"{head}Content-Length: 100\r\n\r\n".encode())
        time.sleep(0.3)
        began = time.monotonic()
        assert own.stop() == 0
        assert time.monotonic() - began < 18


def test_it_serves_tls(tmp_path: Path) -> None:
    import ssl

    import trustme

    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key, trusted = (tmp_path / name for name in ("certificate.pem", "key.pem", "ca.pem"))
    issued.private_key_pem.write_to_path(key)
    for blob in issued.cert_chain_pems:
        blob.write_to_path(certificate, append=True)
    authority.cert_pem.write_to_path(trusted)
    served = Served(tmp_path / "home", workers=0, EVERLOOP_TLS_CERTIFICATE=str(certificate), EVERLOOP_TLS_KEY=str(key))
    with served, httpx2.Client(verify=ssl.create_default_context(cafile=str(trusted)), trust_env=False) as client:
        assert served.url.startswith("https://")
        headers = {"Authorization": f"Bearer {served.key}"}
        assert client.get(f"{served.url}/v1/agent-runs/rsi/runs", headers=headers).status_code == 200


def run(served: Served, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in an installation, to its end."""
    return subprocess.run([*EL, *words], capture_output=True, text=True, env=served.environment, timeout=PATIENCE)


def test_a_home_that_is_not_there_yet_is_made_for_its_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Served(tmp_path / "new", workers=0) as served:
            assert stat.S_IMODE(served.home.stat().st_mode) == 0o700
    finally:
        os.umask(before)
