"""What is asked, without what differs when the same thing is asked again: its digest, and how large it can be.

Times, ids of runs and responses, and usage are no part of the question. Ids of tool calls are, but only as far as they
pair a call with its result: a generated one differs each time, so they are numbered by first appearance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from everloop.errors import InvalidRequest
from everloop.gateway.base import ModelEntry

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

Json = dict[str, object]

KEPT_OF_MESSAGE = ("kind", "parts", "instructions")
DROPPED_OF_PART = frozenset({"timestamp", "metadata"})
NOT_ASKED = frozenset({"timeout", "request_timeout", "first_event_timeout", "max_retries"})
"""Settings that change how long is waited, not what is asked."""
BY_REFERENCE = frozenset({"image-url", "audio-url", "video-url", "document-url", "uploaded-file"})
BINARY_TOKENS = 65_536
"""Least tokens a file counts for: a small compressed picture can be many."""
FRAME_TOKENS = 64
"""What a provider may add around a message."""
PREAMBLE_TOKENS = 1024
"""What a provider adds when there are tools, or a schema in the prompt."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as its account sees it."""

    digest: str
    """SHA-256 hex of what is asked."""
    input_tokens: int
    """Most input tokens it can be: a token is at least one byte."""
    output_tokens: int
    """Most output tokens it can be answered with."""


def asked(
    entry: ModelEntry,
    messages: Sequence[ModelMessage],
    settings: ModelSettings,
    parameters: ModelRequestParameters,
    kind: str = "ask",
) -> Asked:
    """Digest and bounds of a request. InvalidRequest when it has no bound."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    dumped = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    walk = _Walk()
    document: Json = {
        "kind": kind,
        "of": [entry.provider, entry.model],
        "messages": [walk.message(one) for one in dumped],
        "settings": {key: value for key, value in settings.items() if key not in NOT_ASKED},
        "parameters": _parameters(parameters),
    }
    told = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_named)
    try:
        text = told.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("a request is no text", why="it holds half a character") from error
    framed = parameters.function_tools or parameters.output_tools or parameters.output_mode == "prompted"
    frames = FRAME_TOKENS * (len(messages) + 1) + (PREAMBLE_TOKENS if framed else 0)
    size = len(text) + walk.ids + frames + BINARY_TOKENS * walk.binaries
    return Asked(sha256(text).hexdigest(), size, settings["max_tokens"])


class _Walk:
    """Messages without what differs from one telling to the next."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self.ids = 0
        """Bytes of the ids of tool calls, which are sent as they are."""
        self.binaries = 0

    def message(self, message: Json) -> Json:
        kept = {key: message[key] for key in KEPT_OF_MESSAGE if message.get(key) is not None}
        kept["parts"] = [self._part(part) for part in cast(list[Json], message["parts"])]
        return kept

    def _part(self, part: Json) -> Json:
        kept = {key: value for key, value in part.items() if value is not None and key not in DROPPED_OF_PART}
        if (call := kept.get("tool_call_id")) is not None:
            self.ids += len(str(call).encode(errors="replace"))
            kept["tool_call_id"] = self._ids.setdefault(str(call), len(self._ids))
        content = kept.get("content")
        for item in content if isinstance(content, list) else [content]:
            if isinstance(item, dict):
                self._file(item)
        return kept

    def _file(self, item: Json) -> None:
        kind = item.get("kind")
        if kind == "binary":
            self.binaries += 1
        elif kind in BY_REFERENCE:
            raise InvalidRequest(
                f"a file by reference ({kind}) cannot be sent",
                why="its size, and so what it may cost, is not known before the call",
                then="Send its bytes as BinaryContent",
            )


def _parameters(parameters: ModelRequestParameters) -> Json:
    shape = parameters.output_object
    return {
        "tools": [_tool(one) for one in parameters.function_tools],
        "output_tools": [_tool(one) for one in parameters.output_tools],
        "output_mode": parameters.output_mode,
        "output_object": None if shape is None else [shape.name, shape.description, shape.json_schema, shape.strict],
        "template": parameters.prompted_output_template,
        "text": parameters.allow_text_output,
        "instructions": [part.content for part in parameters.instruction_parts or ()],
        "thinking": parameters.thinking,
    }


def _tool(tool: ToolDefinition) -> Sequence[object]:
    return (tool.name, tool.description, tool.parameters_json_schema, tool.strict)


def _named(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else repr(value)
