from __future__ import annotations

import contextlib
import logging
import threading
import time
from pathlib import Path

import httpx2
import openai
import pytest
from scripted import Reply
from serving import ASKED, Served, add_model, refused, script, serving

from everloop.gateway.base import Use
from everloop.store import models
from everloop.store.database import Database


def test_an_upstream_error_is_told_without_its_text(served: Served) -> None:
    script(served, Reply(fault="500"))
    error = refused(served, served.key())
    assert (error.status_code, error.code, error.type) == (503, "model_unavailable", "server_error")
    assert error.response.headers["retry-after"] == "5"
    assert "scripted" not in error.response.text and "127.0.0.1" not in error.response.text


def test_an_upstream_error_before_a_stream_has_its_status(served: Served) -> None:
    script(served, Reply(fault="500"))
    assert refused(served, served.key(), stream=True).status_code == 503


def test_an_upstream_refusal_is_told_without_its_text(served: Served) -> None:
    script(served, Reply(fault="401"))
    error = refused(served, served.key())
    assert (error.status_code, error.code) == (502, "model_refused")
    assert "scripted" not in error.response.text


def test_a_stream_that_is_cut_off_is_an_error(served: Served) -> None:
    script(served, Reply(text="hello world", fault="cut"))
    with served.sdk(served.key()) as client, pytest.raises(openai.APIError) as caught:
        for _ in client.chat.completions.create(model="small", messages=ASKED, stream=True):
            pass
    assert caught.value.code == "model_unavailable"


def test_nothing_private_is_logged_or_told(
    served: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, "uvicorn")
    caplog.set_level(logging.DEBUG, "everloop")
    key = served.key()

    def broken(asked: object) -> None:
        raise RuntimeError(f"{asked} {key}")

    script(served, Reply(fault="500"))
    told = [served.post(key, json={"model": "small", "messages": ASKED}).text]
    told.append(served.post(key + "x", json={}).text)
    told.append(served.post(key, content=b'{"What is the secret prompt?').text)
    monkeypatch.setattr("everloop.gateway.serving.server.question", broken)
    got = served.post(key, json={"model": "small", "messages": ASKED})
    told.append(got.text)
    assert (got.status_code, got.json()["error"]["code"]) == (500, "internal_error")
    assert "RuntimeError" in caplog.text
    for text in (*told, caplog.text):
        assert key.split("_", 2)[2] not in text and "secret prompt" not in text and "Traceback" not in text


def test_a_model_without_a_price_is_refused_unsent(served: Served) -> None:
    add_model(served.installation.database, served.upstream, "free", Use.CANDIDATE, input_usd_per_mtok=None)
    error = refused(served, served.key(models=["free"]), model="free")
    with served.installation.database.write() as tx:
        models.remove(tx, "free")
    assert (error.status_code, error.code) == (503, "model_not_configured")
    assert served.upstream.requests == []


def test_a_reader_who_leaves_pays_what_it_cost(served: Served) -> None:
    served.upstream.script = lambda _: Reply(text="hello world", delay=0.2)
    key = served.key()
    with served.sdk(key) as client:
        with client.chat.completions.create(model="small", messages=ASKED, stream=True) as stream:
            next(iter(stream))
        for _ in range(100):
            if served.state(key).meters["usd_cap"].spent:
                break
            client.models.list()
    meter = served.state(key).meters["usd_cap"]
    assert (meter.spent, meter.reserved) == (200, 0)


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_ends_settles_what_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setattr("everloop.listening.GRACE_SECONDS", 0)
    database = Database(f"sqlite:///{tmp_path / 'everloop.db'}")
    database.migrate()
    with serving(database, tmp_path) as served:
        served.upstream.script = lambda _: Reply(fault="hang")
        key = served.key()

        def ask() -> None:
            with contextlib.suppress(httpx2.TransportError):
                served.post(key, json={"model": "small", "messages": ASKED, "stream": stream})

        asking = threading.Thread(target=ask)
        asking.start()
        deadline = time.monotonic() + 20
        while not served.upstream.requests:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        held = served.state(key).meters["usd_cap"].reserved
    asking.join(20)
    meter = served.state(key).meters["usd_cap"]
    database.close()
    assert held > 0
    assert (meter.reserved, meter.spent) == (0, held)
