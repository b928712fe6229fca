"""Promises that a detail can break: no call hangs, no reservation stays, no key goes astray, every bound is one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from lines import ANSWERED, KEY, QUICK, answer, faults, rig
from pydantic_ai import ModelRequest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from scripted import Reply, Request

from everloop.errors import CapReached, InvalidRequest, ModelNotConfigured, StoreUnavailable
from everloop.gateway.base import Answer, Call, Charge, ModelEntry
from everloop.gateway.memory_account import MemoryAccount
from everloop.gateway.provider import build
from everloop.gateway.transport import sealed_client

SLOW = replace(QUICK, backoff_seconds=0.3)


def first_fails(status: str) -> Callable[[Request], Reply]:
    return lambda request: Reply(fault=status) if request.number == 1 else Reply("done")


@pytest.mark.parametrize("how", ["entry", "key"])
def test_a_call_that_waits_between_attempts_outlives_its_line(how: str) -> None:
    def script(request: Request) -> Reply:
        if request.number == 1:
            return Reply(fault="500")
        return Reply(fault="401") if how == "key" and request.number == 2 else Reply("done")

    with rig(script, limits=SLOW, concurrency=1) as it:

        async def both() -> str:
            waiting = asyncio.create_task(answer(it.model("a"), "hi"))
            await asyncio.sleep(0.1)
            if how == "entry":
                it.change(concurrency=2)
            await asyncio.gather(answer(it.model("b"), "hi"), return_exceptions=True)
            await asyncio.gather(answer(it.model("c"), "hi"), return_exceptions=True)
            return await asyncio.wait_for(waiting, 5)

        assert it.gateway.run(both) == "done"
        assert it.account.held.micros == 0


def test_a_new_key_does_not_start_the_pace_anew() -> None:
    with rig(first_fails("401"), requests_per_minute=120) as it:
        line = []

        async def twice() -> None:
            for key in ("a", "b"):
                line.append(it.model(key)._line())
                await asyncio.gather(answer(it.model(key), "hi"), return_exceptions=True)

        it.gateway.run(twice)
        assert line[0] is not line[1]
        assert line[0].rate is line[1].rate
        assert line[0].breaker is line[1].breaker


def test_retries_of_the_sdk_stay_off_whatever_a_caller_sets() -> None:
    with rig(faults("500")) as it:

        async def ask() -> None:
            settings = {"max_retries": 5, "max_tokens": 10}
            await it.model().request([ModelRequest.user_text_prompt("hi")], settings, ModelRequestParameters())

        with pytest.raises(Exception, match="does not answer"):
            it.gateway.run(ask)
        assert len(it.server.requests) == it.account.requests == QUICK.retries + 1


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer from-the-environment"),
        ("OPENAI_ORG_ID", "from-the-environment"),
        ("OPENAI_PROJECT_ID", "from-the-environment"),
        ("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer from-the-environment"),
    ],
)
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_headers_of_the_environment_are_not_sent(
    monkeypatch: pytest.MonkeyPatch, wire: str, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with rig(wire=wire) as it:
        it.ask()
        headers = it.server.requests[0].headers
    assert "from-the-environment" not in str(headers)
    assert KEY in (headers.get("authorization") or headers["x-api-key"])


@pytest.mark.parametrize("provider", ["together", "cerebras"])
def test_a_provider_that_takes_no_base_url_is_not_used_with_one(provider: str) -> None:
    entry = ModelEntry(name="m", provider=provider, model="x", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(ModelNotConfigured, match="takes no base URL"):
        build(entry, KEY, sealed_client())


def test_a_variable_of_the_environment_moves_no_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOONSHOTAI_BASE_URL", "http://elsewhere.example/v1")
    with pytest.raises(ModelNotConfigured, match="needs a base URL"):
        build(ModelEntry(name="m", provider="moonshotai", model="x"), KEY, sealed_client())


def conversation(identity: str) -> list[ModelMessage]:
    return [
        ModelRequest.user_text_prompt("hi"),
        ModelResponse(parts=[ToolCallPart("look", {}, tool_call_id=identity)]),
        ModelRequest(parts=[ToolReturnPart("look", "seen", tool_call_id=identity)]),
    ]


def test_ids_of_tool_calls_are_part_of_the_worst_case() -> None:
    with rig(account=MemoryAccount(usd_cap=0.005)) as it:
        with pytest.raises(CapReached):
            it.gateway.run(
                lambda: it.model().request(conversation("x" * 100_000), {"max_tokens": 5}, ModelRequestParameters())
            )
        assert it.server.requests == []


def doubling(levels: int) -> ToolDefinition:
    """A schema that doubles with each level once its references are written out."""
    definitions = {"d0": {"type": "string"}}
    for level in range(1, levels):
        inner = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {"type": "object", "properties": {"a": inner, "b": inner}}
    properties = {"x": {"$ref": f"#/$defs/d{levels - 1}"}}
    return ToolDefinition(
        name="t", parameters_json_schema={"type": "object", "properties": properties, "$defs": definitions}
    )


def test_a_schema_is_sized_as_the_provider_writes_it() -> None:
    with rig(provider="ollama", model="qwen3:8b") as it:
        line = []

        async def look() -> int:
            model = it.model()
            line.append(model._line())
            return len(str(line[0].model.customize_request_parameters(parameters).function_tools))

        parameters = ModelRequestParameters(function_tools=[doubling(10)])
        written = it.gateway.run(look)
        assert written > 10 * len(str(parameters.function_tools)), "this provider writes references out"
        account = MemoryAccount(usd_cap=0)
        with pytest.raises(CapReached) as caught:
            it.gateway.run(
                lambda: it.model("k", account).request([ModelRequest.user_text_prompt("hi")], None, parameters)
            )
        worst = int(str(caught.value).partition("may need ")[2].split(".")[0])
        assert worst >= written * 0.8


class Failing(MemoryAccount):
    """Cannot settle at the first try."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 1

    async def end(self, call: Call, cost: Charge, response: str | None) -> None:
        if self.left:
            self.left -= 1
            raise StoreUnavailable("the database is away")
        await super().end(call, cost, response)


def test_what_could_not_be_settled_is_settled_at_its_worst_when_the_attempt_is_left() -> None:
    account = Failing()
    with rig(account=account) as it:
        with pytest.raises(StoreUnavailable):
            it.ask()
        assert it.account.held.micros == 0
        assert it.account.spent.micros == it.worst


@pytest.mark.parametrize(("input_tokens", "output_tokens"), [(100, 10**18), (10**18, 5), (100, 0)])
def test_a_count_that_cannot_be_true_costs_the_worst(input_tokens: int, output_tokens: int) -> None:
    with rig(faults(Reply("eighty words", input_tokens=input_tokens, output_tokens=output_tokens))) as it:
        it.ask()
        assert it.account.spent.micros == it.worst


def test_parallel_requests_that_come_in_another_order_are_not_paid_again() -> None:
    account = MemoryAccount()
    with rig(account=account) as it:

        async def both(*prompts: str) -> None:
            model = it.model("k")
            await asyncio.gather(*(answer(model, prompt) for prompt in prompts))

        it.gateway.run(lambda: both("one", "two"))
        it.gateway.run(lambda: both("two", "one"))
        assert len(it.server.requests) == 2
        assert account.spent.micros == 2 * ANSWERED


def test_the_same_question_twice_is_two_calls() -> None:
    with rig() as it:

        async def twice() -> None:
            model = it.model("k")
            await answer(model, "hi")
            await answer(model, "hi")

        it.gateway.run(twice)
        assert len(it.server.requests) == 2


def test_half_a_character_in_a_prompt_is_refused_before_anything_is_sent() -> None:
    with rig() as it:
        with pytest.raises(InvalidRequest, match="half a character"):
            it.ask("\ud800")
        assert it.server.requests == []


def test_half_a_character_in_an_answer_is_replaced() -> None:
    with rig(faults(Reply("a\ud800b\0c"))) as it:
        assert it.ask() == "a�b�c"
        known = it.gateway.run(lambda: answer(it.model(), "hi"))
        assert known == "a�b�c"
        assert len(it.server.requests) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"openai_native_tools": [{"type": "web_search"}]},
        {"openai_previous_response_id": "resp_1"},
        {"extra_body": {"plugins": []}},
        {"extra_body": {"web_search_options": {}}},
    ],
)
def test_what_no_worst_case_covers_is_refused(settings: dict[str, object]) -> None:
    with rig() as it:
        with pytest.raises(InvalidRequest):
            it.gateway.run(
                lambda: it.model().request([ModelRequest.user_text_prompt("hi")], settings, ModelRequestParameters())
            )
        assert it.server.requests == []


class Answered(MemoryAccount):
    """Has an answer already."""

    async def known(self, call: Call) -> Answer | None:
        return Answer('{"parts":[{"content":"known","part_kind":"text"}],"kind":"response"}', 5)


def test_a_known_answer_waits_for_no_circuit() -> None:
    limits = replace(QUICK, breaker_failures=1, retries=0, breaker_seconds=60.0)
    with rig(faults("500"), limits=limits) as it:
        with pytest.raises(Exception, match="does not answer"):
            it.ask()
        assert it.gateway.run(lambda: answer(it.model("k", Answered()), "hi")) == "known"
