"""A desk for tests of operators and auditors that are language models, and models with scripted answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from everloop.gateway.base import ModelEntry, Use
from everloop.gateway.digest import asked

T = TypeVar("T")
ENTRY = ModelEntry(name="strong", provider="openai", model="scripted")
Said = ModelResponse | BaseException


@dataclass
class FakeDesk:
    """Runs work on an event loop of its own; `steers` are given out by the number of the turn, from 1."""

    model: Model | None
    steers: Mapping[int, Sequence[str]] = field(default_factory=dict)
    turns: list[tuple[Use, str | None, str, Mapping[str, Any]]] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    failing: BaseException | None = None
    """Raised by every turn."""

    def has(self, role: Use) -> bool:
        return self.model is not None

    def run(self, role: Use, work: Callable[[Model], Awaitable[T]]) -> T:
        assert self.model is not None

        async def working() -> T:
            return await work(self.model)  # type: ignore[arg-type] # checked above

        return asyncio.run(working())

    async def turn(
        self, role: Use, tool: str | None, text: str, data: Mapping[str, Any], *, deliver: bool = True
    ) -> Sequence[str]:
        if self.failing is not None:
            raise self.failing
        self.turns.append((role, tool, text, data))
        found = self.steers.get(len(self.turns), ()) if deliver else ()
        self.delivered += found
        return found

    @property
    def told(self) -> list[str]:
        return [text for _, _, text, _ in self.turns]


@dataclass
class Scripted:
    """A model that gives these answers in turn, the last one again and again; keeps the texts it was sent."""

    answers: Sequence[Said]
    seen: list[list[str]] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    """What an answer would be journalled under."""

    @property
    def model(self) -> Model:
        async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.seen.append([info.instructions or "", *texts(messages)])
            parameters = info.model_request_parameters
            self.digests.append(asked(ENTRY, messages, {"max_tokens": 1000}, parameters).digest)
            said = self.answers[min(len(self.seen), len(self.answers)) - 1]
            if isinstance(said, BaseException):
                raise said
            return ModelResponse(parts=list(said.parts))

        return FunctionModel(answer, model_name="scripted")

    def request(self, number: int) -> str:
        return "\n".join(self.seen[number - 1])


def texts(messages: Sequence[ModelMessage]) -> list[str]:
    found = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                found.append(f"{part.tool_name} {part.args_as_json_str()}")
            elif isinstance(part, ToolReturnPart):
                found.append(part.model_response_str())
            else:
                content = getattr(part, "content", "")
                found.append(content if isinstance(content, str) else json.dumps(content, default=str))
    return found


def call(tool: str, **arguments: object) -> ModelResponse:
    return calls((tool, arguments))


def calls(*made: tuple[str, Mapping[str, object]]) -> ModelResponse:
    parts = [ToolCallPart(tool, dict(given), tool_call_id=f"c{place}") for place, (tool, given) in enumerate(made)]
    return ModelResponse(parts=parts)


def says(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def outside(text: str) -> str:
    """A request's text without what is in fences of data."""
    return re.sub(r"^\[data: .*?^\[end of data\]$", "", text, flags=re.DOTALL | re.MULTILINE)


@dataclass
class WireDesk(FakeDesk):
    """A desk whose models are at an endpoint of OpenAI's wire shape."""

    url: str = ""

    def has(self, role: Use) -> bool:
        return True

    def run(self, role: Use, work: Callable[[Model], Awaitable[T]]) -> T:
        async def working() -> T:
            async with httpx2.AsyncClient() as client:
                provider = OpenAIProvider(base_url=self.url, api_key="k", http_client=client)
                return await work(OpenAIChatModel("scripted", provider=provider))

        return asyncio.run(working())
