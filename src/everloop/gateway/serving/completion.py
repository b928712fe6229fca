"""A model's answer as OpenAI's clients read it, whole or in chunks."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from everloop.errors import ModelUnavailable
from everloop.events import Json, JsonValue

FINISH = {"length": "length", "content_filter": "content_filter", "tool_call": "tool_calls"}
"""pydantic-ai's finish reasons that are not ``stop``, as OpenAI names them."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The identity of an answer; all its documents bear it."""

    model: str
    """`ModelEntry.name`: what was asked for, not what the provider calls it."""
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    """Unique id."""
    created: int = field(default_factory=lambda: int(time.time()))
    """Unix seconds."""

    def document(self, response: ModelResponse) -> Json:
        """The answer as one document. ModelUnavailable for an answer that is not whole."""
        message: Json = {"role": "assistant", "content": _said(response), "refusal": None}
        calls = tool_calls(response)
        if calls:
            message["tool_calls"] = list(calls)
        choice: Json = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish(response)}
        return self._head("chat.completion") | {"choices": [choice], "usage": usage(response)}

    def chunk(self, delta: Json, ending: str | None = None) -> Json:
        """A piece of a streamed answer."""
        choice: Json = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": ending}
        return self._head("chat.completion.chunk") | {"choices": [choice]}

    def usage_chunk(self, response: ModelResponse) -> Json:
        """The last chunk of a stream that was asked for its usage."""
        return self._head("chat.completion.chunk") | {"choices": [], "usage": usage(response)}

    def _head(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def finish(response: ModelResponse) -> str:
    """Why the answer ends. ModelUnavailable for one that was cut off: half an answer is none."""
    if response.state != "complete" or response.finish_reason == "error":
        raise ModelUnavailable("the model's answer is not whole", why=f"it is {response.state}")
    usual = "tool_calls" if tool_calls(response) else "stop"
    return FINISH.get(response.finish_reason or "", usual)


def tool_calls(response: ModelResponse) -> list[Json]:
    """The calls of an answer."""
    return [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]


def usage(response: ModelResponse) -> Json:
    """Tokens of an answer."""
    used = response.usage
    counted: dict[str, JsonValue] = {"prompt_tokens": used.input_tokens, "completion_tokens": used.output_tokens}
    return counted | {"total_tokens": used.input_tokens + used.output_tokens}


def _said(response: ModelResponse) -> str | None:
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    return "".join(texts) if texts else None
