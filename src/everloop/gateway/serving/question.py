"""A chat request in the terms of pydantic-ai: messages, settings, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from everloop.gateway.serving.refusals import invalid
from everloop.gateway.serving.wire import (
    ChatRequest,
    Content,
    Instruction,
    Message,
    Prompt,
    Reply,
    SchemaFormat,
    ToolChoice,
)


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked."""

    messages: list[ModelMessage]
    """The conversation."""
    settings: ModelSettings
    """How to sample; only what the request sets."""
    parameters: ModelRequestParameters
    """Tools and the form of the answer."""


def question(request: ChatRequest) -> Question:
    """Translate a request. Refusal where it refers to what is not there, or asks for what is not offered."""
    refused = request.refused()
    if refused is not None:
        raise refused
    return Question(_Conversation().of(request.messages), _settings(request), _parameters(request))


def _text(content: Content | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.text for part in content)


@dataclass(slots=True)
class _Conversation:
    """Messages as they are gathered: all between two answers of the model are one request of ours."""

    done: list[ModelMessage] = field(default_factory=list)
    open: list[ModelRequestPart] = field(default_factory=list)
    called: dict[str, str] = field(default_factory=dict)
    """Tool call id -> name of the tool, of all answers so far."""

    def of(self, messages: Sequence[Message]) -> list[ModelMessage]:
        for message in messages:
            if isinstance(message, Reply):
                self._close()
                self.done.append(self._reply(message))
            else:
                self.open.append(self._part(message))
        self._close()
        return self.done

    def _close(self) -> None:
        if self.open:
            self.done.append(ModelRequest(parts=self.open))
            self.open = []

    def _part(self, message: Message) -> ModelRequestPart:
        text = _text(message.content)
        if isinstance(message, Instruction):
            return SystemPromptPart(text)
        if isinstance(message, Prompt):
            return UserPromptPart(text)
        assert not isinstance(message, Reply)
        if message.tool_call_id not in self.called:
            raise invalid("messages: a tool's result refers to no earlier call")
        name = self.called[message.tool_call_id]
        return ToolReturnPart(tool_name=name, content=text, tool_call_id=message.tool_call_id)

    def _reply(self, message: Reply) -> ModelResponse:
        text = _text(message.content)
        parts: list[ModelResponsePart] = [TextPart(text)] if text else []
        for call in message.tool_calls or ():
            self.called[call.id] = call.function.name
            parts.append(ToolCallPart(call.function.name, call.function.arguments, call.id))
        if not parts:
            raise invalid("messages: an assistant's message has neither content nor tool_calls")
        return ModelResponse(parts=parts)


def _settings(request: ChatRequest) -> ModelSettings:
    stop = [request.stop] if isinstance(request.stop, str) else request.stop
    choice = request.tool_choice
    made = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_tokens": request.max_completion_tokens or request.max_tokens,
        "stop_sequences": stop or None,
        "seed": request.seed,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
        "parallel_tool_calls": request.parallel_tool_calls if request.tools else None,
        "tool_choice": [choice.function.name] if isinstance(choice, ToolChoice) else choice,
    }
    return cast(ModelSettings, {name: value for name, value in made.items() if value is not None})


def _parameters(request: ChatRequest) -> ModelRequestParameters:
    # strict is said either way: left open, a provider's adapter would decide, and change the schema with it
    tools = [
        ToolDefinition(
            name=tool.function.name,
            description=tool.function.description,
            parameters_json_schema=dict(tool.function.parameters or {"type": "object", "properties": {}}),
            strict=bool(tool.function.strict),
        )
        for tool in request.tools or ()
    ]
    if not isinstance(request.response_format, SchemaFormat):
        return ModelRequestParameters(function_tools=tools)
    wanted = request.response_format.json_schema
    form = OutputObjectDefinition(dict(wanted.schema_), wanted.name, wanted.description, bool(wanted.strict))
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=form)
