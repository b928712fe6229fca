"""The model in an agent's hands: tools, structured output, the journal, and no way around it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from lines import ANSWERED, INPUT, MOST, OUTPUT, WIRES, Rig, rig
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ImageUrl, ModelRequest
from pydantic_ai.models import ModelRequestParameters
from scripted import Reply, Request

from everloop.errors import CapReached, InvalidRequest, Unavailable
from everloop.gateway.memory_account import MemoryAccount

PARAMETERS = ModelRequestParameters()
ASKED = [ModelRequest.user_text_prompt("hi")]


class City(BaseModel):
    name: str
    people: int


def tool_script(request: Request) -> Reply:
    """Calls the tool once, then says what it returned."""
    if '"tool' in request.text and "sunny" in request.text:
        return Reply("It is sunny.")
    return Reply(tools=[("weather", {"place": "Bern"})])


def weather_agent(it: Rig, key: str) -> Agent[None, str]:
    agent = Agent(it.model(key), instructions="Be brief.")

    @agent.tool_plain
    def weather(place: str) -> str:
        return f"{place}: sunny"

    return agent


@pytest.mark.parametrize("wire", WIRES)
def test_tools_work(wire: str) -> None:
    with rig(tool_script, wire) as it:
        assert it.gateway.run(lambda: weather_agent(it, "k").run("Weather?")).output == "It is sunny."
        assert it.money == (2 * ANSWERED, 0, 2)


@pytest.mark.parametrize("wire", WIRES)
def test_structured_output_works(wire: str) -> None:
    def script(request: Request) -> Reply:
        tool = request.body["tools"][0]
        return Reply(tools=[(tool.get("name") or tool["function"]["name"], {"name": "Bern", "people": 130000})])

    with rig(script, wire) as it:
        result = it.gateway.run(lambda: Agent(it.model(), output_type=City).run("Which city?"))
        assert result.output == City(name="Bern", people=130000)


@pytest.mark.parametrize("wire", WIRES)
def test_conversation_with_tools_is_replayed_without_sending(wire: str) -> None:
    with rig(tool_script, wire) as it:
        first = it.gateway.run(lambda: weather_agent(it, "k").run("Weather?"))
        again = it.gateway.run(lambda: weather_agent(it, "k").run("Weather?"))
        assert again.output == first.output
        assert len(it.server.requests) == 2
        assert it.money == (2 * ANSWERED, 0, 2)


def test_another_question_under_the_same_key_is_another_call() -> None:
    with rig(lambda one: Reply(one.last)) as it:
        assert it.ask("one") == "one"
        assert it.ask("two") == "two"
        assert it.ask("one") == "one"
        assert len(it.server.requests) == 2


def test_same_question_under_another_key_is_another_call() -> None:
    with rig() as it:
        it.ask(key="a")
        it.ask(key="b")
        assert len(it.server.requests) == 2


def test_requests_of_one_model_are_numbered() -> None:
    with rig(lambda one: Reply(f"{one.number}")) as it:

        async def go() -> list[object]:
            model = it.model()
            return [(await model.request(ASKED, None, PARAMETERS)).text for _ in range(2)]

        assert it.gateway.run(go) == ["1", "2"]
        assert it.gateway.run(go) == ["1", "2"]
        assert len(it.server.requests) == 2


@pytest.mark.parametrize("wire", WIRES)
def test_output_is_always_bounded(wire: str) -> None:
    with rig(wire=wire) as it:
        it.ask()
        it.gateway.run(lambda: it.model("k2").request(ASKED, {"max_tokens": 7}, PARAMETERS))
        assert [one.body["max_tokens"] for one in it.server.requests] == [MOST, 7]


def test_settings_of_the_entry_are_sent_and_those_of_the_call_win() -> None:
    with rig(settings={"temperature": 0.2, "top_p": 0.5}) as it:
        it.gateway.run(lambda: it.model().request(ASKED, {"temperature": 0.7}, PARAMETERS))
        assert (it.server.requests[0].body["temperature"], it.server.requests[0].body["top_p"]) == (0.7, 0.5)


@pytest.mark.parametrize("wire", WIRES)
def test_worst_cost_covers_what_is_sent(wire: str) -> None:
    with rig(tool_script, wire) as it:
        account = MemoryAccount(usd_cap=1.0)
        held: list[int] = []
        it.server.script = lambda one: (held.append(account.held.micros), tool_script(one))[1]
        it.account = account
        it.gateway.run(lambda: weather_agent(it, "k").run("Wëather? " * 50))
        for micros, request in zip(held, it.server.requests, strict=True):
            sent = len(json.dumps(request.body["messages"], ensure_ascii=False).encode())
            assert micros >= sent * INPUT * 0.9 + MOST * OUTPUT


def test_picture_counts_by_its_bytes_and_at_least_for_many_tokens() -> None:
    with rig(account=MemoryAccount(usd_cap=0)) as it:
        picture = BinaryContent(b"\x89PNG" * 30_000, media_type="image/png")
        with pytest.raises(CapReached) as caught:
            it.gateway.run(lambda: Agent(it.model()).run(["What is it?", picture]))
        assert int(str(caught.value).partition("may need ")[2].split(".")[0]) > 160_000 + 65_536


def refused(it: Rig, settings: Any = None, messages: Any = ASKED, parameters: Any = PARAMETERS) -> str:
    with pytest.raises(InvalidRequest) as caught:
        it.gateway.run(lambda: it.model().request(messages, settings, parameters))
    assert it.server.requests == []
    assert it.money == (0, 0, 0)
    return str(caught.value)


def test_file_by_reference_is_refused() -> None:
    with rig() as it:
        message = ModelRequest.user_text_prompt([ImageUrl("http://x.invalid/a.png")])  # type: ignore[arg-type]
        assert "by reference" in refused(it, messages=[message])


@pytest.mark.parametrize("body", [{"n": 5}, {"max_completion_tokens": 9}, {"model": "dearer"}])
def test_body_that_undoes_the_bound_is_refused(body: dict[str, object]) -> None:
    with rig() as it:
        assert next(iter(body)) in refused(it, {"extra_body": body})


def test_key_of_the_caller_is_refused() -> None:
    with rig() as it:
        assert "key of its own" in refused(it, {"extra_headers": {"Authorization": "Bearer x"}})


def test_dearer_tier_is_refused_where_the_price_is_the_lists() -> None:
    with rig(model="gpt-4o-mini", input_usd_per_mtok=None, output_usd_per_mtok=None) as it:
        assert "another price" in refused(it, {"service_tier": "priority"})


@pytest.mark.parametrize("count", [0, -1, "many", True])
def test_bound_that_is_none_is_refused(count: object) -> None:
    with rig() as it:
        assert "max_tokens" in refused(it, {"max_tokens": count})


WAYS = [
    "batch_encode",
    "batch_create",
    "batch_status",
    "batch_results",
    "batch_cancel",
    "compact_messages",
    "cancel_suspended_response",
]


@pytest.mark.parametrize("way", WAYS)
def test_other_ways_to_the_endpoint_are_refused(way: str) -> None:
    with rig() as it:
        with pytest.raises(InvalidRequest, match="plain and streamed requests only"):
            it.gateway.run(lambda: getattr(it.model(), way)(None))
        assert it.server.requests == []


@pytest.mark.parametrize("wire", WIRES)
def test_wrapped_model_reaches_nothing(wire: str) -> None:
    with rig(wire=wire) as it:
        model = it.model()

        async def around() -> None:
            await model.wrapped.request(ASKED, {"max_retries": 0}, PARAMETERS)

        with pytest.raises(Exception, match=r"(?i)connection"):
            asyncio.run(around())
        assert model.client.api_key == "no-key"
        assert it.server.requests == []


def test_tokens_are_not_counted_where_there_is_no_endpoint_for_it() -> None:
    with rig() as it:
        with pytest.raises(Unavailable, match="counts no tokens"):
            it.gateway.run(lambda: it.model().count_tokens(ASKED, None, PARAMETERS))
        assert it.money == (0, 0, 0)
