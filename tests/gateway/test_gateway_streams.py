"""Streams: settled at their end, charged at worst when they break or are left, replayed from the journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from lines import ANSWERED, QUICK, WIRES, Rig, faults, rig
from pydantic_ai import Agent, ModelRequest
from pydantic_ai.models import ModelRequestParameters
from scripted import Reply

from everloop.errors import ModelUnavailable
from everloop.gateway.limits import GatewayLimits

ASKED = [ModelRequest.user_text_prompt("hi")]


def read(it: Rig, key: str = "k", most: int = 1000) -> list[str]:
    async def go() -> list[str]:
        seen: list[str] = []
        async with it.model(key).request_stream(ASKED, None, ModelRequestParameters()) as stream:
            async for event in stream:
                seen.append(type(event).__name__)
                if len(seen) == most:
                    break
        return seen

    return it.gateway.run(go)


@pytest.mark.parametrize(("wire", "fault"), [("openai", "cut"), ("openai", "drip"), ("anthropic", "drip")])
def test_stream_that_breaks_after_its_first_words_is_not_repeated(wire: str, fault: str) -> None:
    with rig(lambda _: Reply("a long answer", fault=fault), wire, replace(QUICK, deadline_seconds=1.0)) as it:
        seen: list[object] = []

        async def go() -> None:
            async with Agent(it.model()).run_stream("hi") as result:
                async for part in result.stream_text(debounce_by=None):
                    seen.append(part)

        with pytest.raises(ModelUnavailable):
            it.gateway.run(go)
        assert seen
        assert it.money == (it.worst, 0, 1)


def test_stream_that_breaks_before_its_first_words_is_repeated() -> None:
    with rig(faults("cut", Reply("done")), "anthropic") as it:
        assert it.ask(stream=True) == "done"
        assert it.money == (it.worst + ANSWERED, 0, 2)


@pytest.mark.parametrize("wire", WIRES)
def test_stream_is_settled_when_it_ends(wire: str) -> None:
    with rig(wire=wire) as it:

        async def go() -> tuple[int, int]:
            async with it.model().request_stream(ASKED, None, ModelRequestParameters()) as stream:
                held = it.account.held.micros
                async for _ in stream:
                    pass
                return held, it.account.held.micros

        held, after = it.gateway.run(go)
        assert (held, after) == (it.worst, 0)
        assert it.money == (ANSWERED, 0, 1)


@pytest.mark.parametrize("wire", WIRES)
def test_stream_that_is_left_early_is_charged_its_worst(wire: str) -> None:
    with rig(wire=wire) as it:
        read(it, most=1)
        assert it.money == (it.worst, 0, 1)


def test_stream_that_is_cancelled_by_its_reader_is_charged_its_worst() -> None:
    with rig() as it:

        async def go() -> None:
            async with it.model().request_stream(ASKED, None, ModelRequestParameters()) as stream:
                await anext(aiter(stream))
                await stream.cancel()
                assert stream.cancelled

        it.gateway.run(go)
        assert it.money == (it.worst, 0, 1)


def test_error_of_the_reader_is_not_taken_for_the_endpoints() -> None:
    with rig() as it:

        async def go() -> None:
            async with it.model().request_stream(ASKED, None, ModelRequestParameters()) as stream:
                async for _ in stream:
                    raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            it.gateway.run(go)
        assert it.money == (it.worst, 0, 1)
        assert it.ask(key="next") == "ok"


def test_stream_whose_task_is_cancelled_is_charged_its_worst() -> None:
    with rig(faults("drip"), limits=GatewayLimits(deadline_seconds=5)) as it:

        async def go() -> None:
            async def reading() -> None:
                async with it.model().request_stream(ASKED, None, ModelRequestParameters()) as stream:
                    async for _ in stream:
                        pass

            task = asyncio.ensure_future(reading())
            await asyncio.sleep(0.3)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()

        it.gateway.run(go)
        assert it.money == (it.worst, 0, 1)


@pytest.mark.parametrize("wire", WIRES)
def test_events_are_the_providers_own(wire: str) -> None:
    with rig(lambda _: Reply("hello world"), wire) as it:
        names = read(it)
        assert names[0] == "PartStartEvent"
        assert names.count("FinalResultEvent") == 1
        assert names.count("PartEndEvent") == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("first", [False, True], ids=["whole first", "stream first"])
def test_journalled_answer_is_streamed_back_without_sending(wire: str, first: bool) -> None:
    with rig(lambda _: Reply("once"), wire) as it:
        assert it.ask(stream=first) == "once"
        assert it.ask(stream=not first) == "once"
        assert len(it.server.requests) == 1
        assert it.money == (ANSWERED, 0, 1)


def test_stream_holds_its_place_until_it_is_done() -> None:
    with rig(concurrency=1) as it:

        async def read_slowly() -> AsyncIterator[None]:
            async with it.model().request_stream(ASKED, None, ModelRequestParameters()) as stream:
                async for _ in stream:
                    yield

        async def go() -> bool:
            reader = read_slowly()
            await anext(reader)
            other = asyncio.ensure_future(it.model("other").request(ASKED, None, ModelRequestParameters()))
            await asyncio.sleep(0.1)
            waiting = not other.done()
            async for _ in reader:
                pass
            await other
            return waiting

        assert it.gateway.run(go)
