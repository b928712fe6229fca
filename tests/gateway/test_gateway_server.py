from __future__ import annotations

import asyncio
import json
import threading
from datetime import timedelta
from typing import Any

import httpx2
import openai
import pytest
import sqlalchemy as sa
from openai import AsyncOpenAI
from scripted import Reply
from serving import ASKED, SUM, Served, add_model, refused, script

from everloop.gateway.base import Use
from everloop.gateway.serving.server import IDLE_ACCOUNTS
from everloop.service.gateway import KeyRequest, create_key, revoke_key
from everloop.store import models, tables
from everloop.store.database import Database
from everloop.values import iso, utcnow


def test_plain_answer(served: Served) -> None:
    key = served.key()
    with served.sdk(key) as client:
        got = client.chat.completions.create(model="small", messages=ASKED)
    assert (got.choices[0].message.content, got.choices[0].finish_reason, got.model) == ("ok", "stop", "small")
    assert got.usage is not None and (got.usage.prompt_tokens, got.usage.completion_tokens) == (100, 50)


def test_an_answer_is_paid_at_its_true_cost_by_the_key_alone(served: Served) -> None:
    key, other = served.key(), served.key()
    assert served.post(key, json={"model": "small", "messages": ASKED}).status_code == 200
    meter = served.state(key).meters["usd_cap"]
    assert (meter.spent, meter.reserved) == (200, 0)
    assert served.state(key).to_json()["requests"] == 1
    assert served.state(other).meters["usd_cap"].spent == 0


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_kept_of_a_settled_request(served: Served, stream: bool) -> None:
    key = served.key()
    assert served.post(key, json={"model": "small", "messages": ASKED, "stream": stream}).status_code == 200
    with served.installation.database.read() as tx:
        rows = tx.execute(sa.select(tables.calls).where(tables.calls.c.run == served.state(key).row.account)).all()
    assert rows == []
    assert served.state(key).meters["usd_cap"].spent == 200
    assert served.state(key).to_json()["requests"] == 1


def test_many_keys_hold_few_threads(served: Served) -> None:
    for _ in range(IDLE_ACCOUNTS + 5):
        assert served.post(served.key(), json={"model": "small", "messages": ASKED}).status_code == 200
    held = [thread.name for thread in threading.enumerate() if thread.name.startswith("ledger-gateway:")]
    assert len(held) <= IDLE_ACCOUNTS + 1


def test_the_database_is_never_read_on_the_event_loop(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    read, where = Database.read, []

    def seen(database: Database) -> object:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            where.append("thread")
        else:
            where.append("event loop")
        return read(database)

    add_model(served.installation.database, served.upstream, "fresh", Use.CANDIDATE)
    key = served.key(models=["fresh"])
    monkeypatch.setattr(Database, "read", seen)
    assert served.post(key, json={"model": "fresh", "messages": ASKED}).status_code == 200
    monkeypatch.undo()
    with served.installation.database.write() as tx:
        models.remove(tx, "fresh")
    assert where and set(where) == {"thread"}


def test_the_same_question_is_asked_again(served: Served) -> None:
    key = served.key()
    for _ in range(2):
        served.post(key, json={"model": "small", "messages": ASKED, "seed": 1})
    assert len(served.upstream.requests) == 2


def test_streamed_answer_with_usage(served: Served) -> None:
    script(served, Reply(text="hello world"))
    with served.sdk(served.key()) as client:
        asked = {"model": "small", "messages": ASKED, "stream": True, "stream_options": {"include_usage": True}}
        chunks = list(client.chat.completions.create(**asked))
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert len(pieces) > 1 and "".join(pieces) == "hello world"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None and chunks[-1].usage.total_tokens == 150


def test_streamed_answer_is_settled(served: Served) -> None:
    key = served.key()
    with served.sdk(key) as client:
        assert len(list(client.chat.completions.create(model="small", messages=ASKED, stream=True))) > 1
    meter = served.state(key).meters["usd_cap"]
    assert (meter.spent, meter.reserved) == (200, 0)


@pytest.mark.parametrize("stream", [False, True])
def test_tool_call_round_trip(served: Served, stream: bool) -> None:
    script(served, Reply(tools=[("add", {"a": 2, "b": 3})]), Reply(text="5"))
    with served.sdk(served.key()) as client:
        asked: dict[str, Any] = {"model": "small", "tools": [SUM], "tool_choice": "required"}
        if stream:
            chunks = list(client.chat.completions.create(messages=ASKED, stream=True, **asked))
            (call,) = [one for chunk in chunks for one in chunk.choices[0].delta.tool_calls or ()]
            assert chunks[-1].choices[0].finish_reason == "tool_calls"
        else:
            got = client.chat.completions.create(messages=ASKED, **asked)
            assert got.choices[0].finish_reason == "tool_calls" and got.choices[0].message.content is None
            (call,) = got.choices[0].message.tool_calls
        assert (call.function.name, json.loads(call.function.arguments)) == ("add", {"a": 2, "b": 3})
        said = {"id": call.id, "type": "function", "function": call.function.model_dump()}
        more = [*ASKED, {"role": "assistant", "tool_calls": [said]}]
        more.append({"role": "tool", "tool_call_id": call.id, "content": "5"})
        assert (
            client.chat.completions.create(model="small", messages=more, tools=[SUM]).choices[0].message.content == "5"
        )
    first, second = (request.body for request in served.upstream.requests)
    assert first["tool_choice"] == "required"
    function = first["tools"][0]["function"]
    assert (function["name"], function["description"]) == ("add", "Adds.")
    assert function["parameters"]["required"] == ["a", "b"]
    assert second["messages"][1]["tool_calls"][0]["function"]["name"] == "add"
    assert second["messages"][2] == {"role": "tool", "tool_call_id": call.id, "content": "5"}


def test_what_a_request_sets_reaches_the_model(served: Served) -> None:
    messages = [{"role": "system", "content": "Be brief."}, *ASKED, {"role": "assistant", "content": "No."}, *ASKED]
    asked = {"temperature": 0.3, "top_p": 0.5, "max_completion_tokens": 7, "stop": "END", "seed": 11}
    with served.sdk(served.key()) as client:
        client.chat.completions.create(model="small", messages=messages, **asked, extra_body={"unknown": 1})
    (request,) = served.upstream.requests
    assert [one["role"] for one in request.body["messages"]] == ["system", "user", "assistant", "user"]
    assert request.body["messages"][0]["content"] == "Be brief."
    sent = {name: request.body.get(name) for name in ("temperature", "top_p", "stop", "seed")}
    assert sent == {"temperature": 0.3, "top_p": 0.5, "stop": ["END"], "seed": 11}
    assert request.body.get("max_completion_tokens", request.body.get("max_tokens")) == 7
    assert "unknown" not in request.body


def test_an_answer_of_a_given_form_is_asked_for(served: Served) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "point", "schema": schema}}
    script(served, Reply(text='{"x": 1}'))
    with served.sdk(served.key()) as client:
        got = client.chat.completions.create(model="small", messages=ASKED, response_format=wanted)
    assert got.choices[0].message.content == '{"x": 1}'
    sent = served.upstream.requests[0].body["response_format"]
    assert sent["json_schema"]["name"] == "point"
    assert sent["json_schema"]["schema"]["properties"]["x"]["type"] == "integer"


def test_truncated_answers_say_so(served: Served) -> None:
    script(served, Reply(finish="length"))
    with served.sdk(served.key()) as client:
        assert client.chat.completions.create(model="small", messages=ASKED).choices[0].finish_reason == "length"


def test_models_are_those_of_the_key(served: Served) -> None:
    with served.sdk(served.key()) as client:
        assert [model.id for model in client.models.list()] == ["small", "other"]
    with served.sdk(served.key(models=["other"])) as client:
        assert [model.id for model in client.models.list()] == ["other"]


def test_health_needs_no_key(served: Served) -> None:
    with httpx2.Client() as client:
        got = client.get(served.url.removesuffix("/v1") + "/healthz")
    assert (got.status_code, got.json()) == (200, {"status": "ok"})
    assert "server" not in got.headers


def test_a_cap_stops_before_anything_is_sent(served: Served) -> None:
    error = refused(served, served.key(usd_cap=0.0001))
    assert isinstance(error, openai.RateLimitError)
    assert (error.code, error.type) == ("cap_reached", "insufficient_quota")
    assert error.response.headers["x-should-retry"] == "false"
    assert served.upstream.requests == []


def test_a_cap_stops_a_stream_with_its_status(served: Served) -> None:
    error = refused(served, served.key(usd_cap=0.0001), stream=True)
    assert (error.status_code, error.code) == (429, "cap_reached")


def test_a_request_cap_stops(served: Served) -> None:
    key = served.key(request_cap=2)
    for _ in range(2):
        assert served.post(key, json={"model": "small", "messages": ASKED}).status_code == 200
    assert refused(served, key).status_code == 429
    assert len(served.upstream.requests) == 2


def test_fifty_at_once_never_pass_a_tiny_cap(served_on_both: Served) -> None:
    served, cap = served_on_both, 3000
    served.upstream.script = lambda _: Reply(delay=0.05)
    key = served.key(usd_cap=cap / 1e6)

    async def ask(client: AsyncOpenAI) -> int:
        try:
            await client.chat.completions.create(model="small", messages=ASKED)
        except openai.RateLimitError:
            return 0
        return 1

    async def all_at_once() -> int:
        async with AsyncOpenAI(base_url=served.url, api_key=key, max_retries=0) as client:
            return sum(await asyncio.gather(*(ask(client) for _ in range(50))))

    answered = asyncio.run(all_at_once())
    meter = served.state(key).meters["usd_cap"]
    assert 0 < answered < 50
    assert len(served.upstream.requests) == answered
    assert meter.spent == 200 * answered <= cap
    assert meter.reserved == 0


def test_the_caps_of_a_run_hold_for_its_key(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from everloop.ledger import caps
    from everloop.store import runs

    monkeypatch.setattr(runs, "require", lambda tx, run: None)
    database = served.installation.database
    with database.write() as tx:
        caps.open_caps(tx, "run-1", {"usd_cap": 1.0, "model_usd_cap": 1.0, "request_cap": 1})
    key, state = create_key(served.installation, KeyRequest(run="run-1"))
    assert state.row.account == "run-1"
    assert served.post(key, json={"model": "small", "messages": ASKED}).status_code == 200
    assert refused(served, key).code == "cap_reached"
    with database.read() as tx:
        assert caps.spent(tx, "run-1")["usd_cap"] == 200


@pytest.mark.parametrize("key", ["elg_000000000000_x", "elg_", "sk-1", "elg", "é"])
def test_an_unknown_key_is_refused(served: Served, key: str) -> None:
    got = served.post("x", headers={"authorization": b"Bearer " + key.encode()}, json={})
    assert got.status_code == 401
    assert got.json()["error"]["code"] == "invalid_api_key"
    assert served.upstream.requests == []


def test_another_secret_with_a_known_prefix_is_refused(served: Served) -> None:
    key = served.key()
    assert isinstance(refused(served, key[:-1] + ("A" if key[-1] != "A" else "B")), openai.AuthenticationError)


def test_no_key_is_refused(served: Served) -> None:
    with httpx2.Client() as client:
        got = client.get(f"{served.url}/models")
    assert (got.status_code, got.headers["www-authenticate"]) == (401, "Bearer")


def test_a_revoked_key_is_refused_at_once(served: Served) -> None:
    key = served.key()
    assert served.post(key, json={"model": "small", "messages": ASKED}).status_code == 200
    revoke_key(served.installation, key)
    error = refused(served, key)
    assert error.status_code == 401 and "revoked" in str(error)


def test_an_expired_key_is_refused(served: Served) -> None:
    key = served.key(expires_days=1)
    _set(served, key, expires_at=iso(utcnow() - timedelta(seconds=1)))
    error = refused(served, key)
    assert error.status_code == 401 and "expired" in str(error)


def test_last_use_is_noted_once_a_minute(served: Served) -> None:
    key = served.key()
    assert served.state(key).row.used_at is None
    with served.sdk(key) as client:
        client.models.list()
        first = served.state(key).row.used_at
        assert first is not None
        client.models.list()
        assert served.state(key).row.used_at == first
        old = iso(utcnow() - timedelta(seconds=61))
        _set(served, key, used_at=old)
        client.models.list()
    assert str(served.state(key).row.used_at) > str(old)


def _set(served: Served, key: str, **values: object) -> None:
    where = tables.gateway_keys.c.prefix == key.split("_")[1]
    with served.installation.database.write() as tx:
        tx.execute(sa.update(tables.gateway_keys).where(where).values(**values))


def test_only_the_hash_is_stored(served: Served) -> None:
    key = served.key()
    row = served.state(key).row
    assert key not in repr(row) and key.split("_", 2)[2] not in repr(row)


def test_a_model_the_key_may_not_use_is_forbidden(served: Served) -> None:
    key = served.key(models=["small"])
    assert (refused(served, key, model="other").code, refused(served, key, model="other").status_code) == (
        "model_not_allowed",
        403,
    )
    unlike = [refused(served, key, model=name) for name in ("ours", "other", "none")]
    assert {(one.status_code, one.response.text) for one in unlike} == {(403, unlike[0].response.text)}


def test_a_model_that_is_no_longer_configured_is_not_found(served: Served) -> None:
    add_model(served.installation.database, served.upstream, "gone", Use.CANDIDATE)
    key = served.key(models=["gone"])
    with served.installation.database.write() as tx:
        models.remove(tx, "gone")
    missing = refused(served, key, model="gone")
    assert isinstance(missing, openai.NotFoundError) and missing.code == "model_not_found"


def test_a_model_that_is_no_longer_for_candidates_is_forbidden(served: Served) -> None:
    key = served.key()
    database = served.installation.database
    with database.write() as tx:
        models.put(tx, "small", models.require(tx, "small").document | {"uses": ["operator"]})
    assert refused(served, key).status_code == 403
    with served.sdk(key) as client:
        assert [model.id for model in client.models.list()] == ["other"]


def test_a_model_of_another_provider_is_asked_in_the_same_way(served: Served) -> None:
    add_model(served.installation.database, served.upstream, "claude", Use.CANDIDATE, provider="anthropic")
    script(served, Reply(tools=[("add", {"a": 2, "b": 3})]), Reply(text="five"))
    with served.sdk(served.key(models=["claude"])) as client:
        asked: dict[str, Any] = {"model": "claude", "tools": [SUM]}
        messages = [{"role": "system", "content": "Be brief."}, *ASKED]
        got = client.chat.completions.create(messages=messages, **asked).choices[0]
        assert got.finish_reason == "tool_calls"
        (call,) = got.message.tool_calls
        assert json.loads(call.function.arguments) == {"a": 2, "b": 3}
        messages += [got.message.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": "5"}]
        chunks = client.chat.completions.create(messages=messages, stream=True, **asked)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "five"
    with served.installation.database.write() as tx:
        models.remove(tx, "claude")
    second = served.upstream.requests[1].body
    assert [one["role"] for one in second["messages"]] == ["user", "assistant", "user"]
    assert second["messages"][2]["content"][0]["type"] == "tool_result"
