"""Answers outside the protocol, and parts of it that the scripted server does not speak."""

from __future__ import annotations

import json
import time

import pytest
from lines import QUICK, WIRES, http, rig
from pydantic_ai import ModelRequest
from pydantic_ai.models import ModelRequestParameters

from everloop.errors import ModelRefused, ModelUnavailable

ASKED = [ModelRequest.user_text_prompt("hi")]
PARAMETERS = ModelRequestParameters()
DELTA = {"index": 0, "delta": {"content": "half an"}, "finish_reason": None}
CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": [DELTA]}
MESSAGE = {"role": "assistant", "content": "done"}
DONE = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "x",
    "choices": [{"index": 0, "finish_reason": "stop", "message": MESSAGE}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
}


def events(*documents: object) -> bytes:
    body = "".join(f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n" for one in documents)
    return http(200, body, "text/event-stream")


@pytest.mark.parametrize("wire", WIRES)
def test_redirect_is_refused_and_not_followed(wire: str) -> None:
    with rig([http(307, "", location="http://127.0.0.1:9/")], wire) as it:
        with pytest.raises(ModelRefused, match="redirect"):
            it.ask()
        assert it.money == (0, 0, 1)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("body", ["<html>hello</html>", "{}", '{"choices": []}', "[]", "null", '{"content": 5}'])
def test_odd_answer_is_charged_its_worst_and_reported(wire: str, body: str) -> None:
    with rig([http(200, body)], wire) as it:
        with pytest.raises(ModelUnavailable, match="3 attempts"):
            it.ask()
        assert it.money == (3 * it.worst, 0, 3)


def test_wait_in_milliseconds_is_understood() -> None:
    answers = [http(429, "{}", retry_after_ms="700"), http(200, json.dumps(DONE))]
    with rig(answers) as it:
        begun = time.monotonic()
        assert it.ask() == "done"
        assert 0.7 < time.monotonic() - begun < 5


def test_stream_without_a_finish_reason_is_charged_its_worst() -> None:
    with rig([events(CHUNK, "[DONE]")]) as it:
        with pytest.raises(ModelUnavailable):
            it.ask(stream=True)
        assert it.money == (it.worst, 0, 1)


@pytest.mark.parametrize(
    ("kind", "told"), [("server_error", "HTTP 500: overloaded"), ("invalid_request_error", "broke off with an error")]
)
def test_error_inside_a_stream_is_charged_its_worst(kind: str, told: str) -> None:
    failed = {"error": {"message": "overloaded", "type": kind, "code": None}}
    with rig([events(CHUNK, failed)]) as it:
        with pytest.raises(ModelUnavailable, match=told):
            it.ask(stream=True)
        assert it.money == (it.worst, 0, 1)


def test_counting_tokens_is_a_request_that_costs_nothing() -> None:
    with rig([http(200, '{"input_tokens": 12}')], "anthropic") as it:
        for _ in range(2):
            usage = it.gateway.run(lambda: it.model().count_tokens(ASKED, None, PARAMETERS))
            assert usage.input_tokens == 12
        assert it.money == (0, 0, 1)
        assert it.server.requests[0].path.startswith("/v1/messages/count_tokens")


def test_counting_tokens_is_retried() -> None:
    with rig([http(503, "{}"), http(200, '{"input_tokens": 12}')], "anthropic", QUICK) as it:
        it.gateway.run(lambda: it.model().count_tokens(ASKED, None, PARAMETERS))
        assert it.money == (0, 0, 2)
