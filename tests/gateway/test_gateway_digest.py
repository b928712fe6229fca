"""The digest: equal for the same question however it came about, another for any other question."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from everloop.gateway.base import ModelEntry
from everloop.gateway.digest import asked

ENTRY = ModelEntry(name="m", provider="openai", model="x")
TOOL = ToolDefinition(name="weather", parameters_json_schema={"type": "object", "properties": {}})
PARAMETERS = ModelRequestParameters(function_tools=[TOOL])


def conversation(call: str, moment: datetime, place: str = "Bern", result: object = "sunny") -> list[ModelMessage]:
    return [
        ModelRequest(
            [SystemPromptPart("Be brief.", timestamp=moment), UserPromptPart("Weather?", timestamp=moment)],
            run_id=f"run-{call}",
            timestamp=moment,
        ),
        ModelResponse(
            [TextPart("Let me see."), ToolCallPart("weather", {"place": place}, tool_call_id=call)],
            usage=RequestUsage(input_tokens=len(call)),
            provider_response_id=call,
            timestamp=moment,
        ),
        ModelRequest([ToolReturnPart("weather", result, tool_call_id=call, timestamp=moment)], conversation_id=call),
    ]


def digest(messages: list[ModelMessage], settings: object = None, parameters: object = PARAMETERS) -> str:
    given = {"max_tokens": 10, **(settings or {})}  # type: ignore[dict-item]
    return asked(ENTRY, messages, given, parameters).digest  # type: ignore[arg-type]


BASE = digest(conversation("pyd_ai_1", datetime(2026, 1, 1, tzinfo=UTC)))


def test_same_conversation_at_another_time_with_other_ids_is_the_same_question() -> None:
    assert digest(conversation("call_abc", datetime(2027, 5, 5, tzinfo=UTC))) == BASE


def test_conversation_that_was_stored_is_the_same_question() -> None:
    stored = ModelMessagesTypeAdapter.dump_json(conversation("pyd_ai_2", datetime.now(UTC)))
    assert digest(ModelMessagesTypeAdapter.validate_json(stored)) == BASE


@pytest.mark.parametrize(
    "other",
    [
        digest(conversation("a", datetime.now(UTC), place="Basel")),
        digest(conversation("a", datetime.now(UTC), result="rain")),
        digest(conversation("a", datetime.now(UTC), result={"timestamp": 1})),
        digest(conversation("a", datetime.now(UTC), result={"timestamp": 2})),
        digest(conversation("a", datetime.now(UTC))[:1]),
        digest(conversation("a", datetime.now(UTC)), {"max_tokens": 11}),
        digest(conversation("a", datetime.now(UTC)), {"temperature": 0.5}),
        digest(conversation("a", datetime.now(UTC)), None, ModelRequestParameters()),
        digest(
            conversation("a", datetime.now(UTC)),
            None,
            ModelRequestParameters(function_tools=[replace(TOOL, description="other")]),
        ),
    ],
)
def test_any_difference_is_another_question(other: str) -> None:
    assert other != BASE


def test_times_inside_a_result_are_part_of_the_question() -> None:
    first, second = ({"timestamp": n} for n in (1, 2))
    at = datetime.now(UTC)
    assert digest(conversation("a", at, result=first)) != digest(conversation("a", at, result=second))


def test_swapped_results_of_two_calls_are_another_question() -> None:
    def told(first: str, second: str) -> list[ModelMessage]:
        calls = [ToolCallPart("weather", {"place": place}, tool_call_id=place) for place in ("a", "b")]
        results = [ToolReturnPart("weather", "sun", first), ToolReturnPart("weather", "rain", second)]
        return [ModelRequest([UserPromptPart("?")]), ModelResponse(calls), ModelRequest(results)]

    assert digest(told("a", "b")) != digest(told("b", "a"))


def test_how_long_is_waited_is_no_part_of_the_question() -> None:
    assert digest(conversation("a", datetime.now(UTC)), {"timeout": 3, "max_retries": 1}) == BASE


@given(st.text(max_size=200).filter(lambda text: text.isprintable()))
def test_size_bounds_the_bytes_of_the_prompt(text: str) -> None:
    size = asked(ENTRY, [ModelRequest.user_text_prompt(text)], {"max_tokens": 5}, ModelRequestParameters())
    assert size.input_tokens >= len(text.encode()) + 64
    assert size.output_tokens == 5
