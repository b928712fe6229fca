"""Chat requests as OpenAI's clients send them. Unknown fields are ignored, as OpenAI does.

Content is text only: what an image or a sound costs cannot be bounded by its size, and a cap must never be passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from everloop.gateway.serving.refusals import Refusal, invalid

REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
"""What a schema may not hold: adapters write a definition out wherever it is referred to, and a few lines become more
than any memory, or any cap, has room for.
"""

Positive = Annotated[int, Field(ge=1, le=10**9)]
Penalty = Annotated[float, Field(ge=-2, le=2)]
ToolName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class Text(_Part):
    """A piece of content."""

    type: Literal["text"]
    """Always ``text``."""
    text: str
    """The text."""


Content = str | list[Text]


class Instruction(_Part):
    """A message of whoever wrote the program."""

    role: Literal["system", "developer"]
    """Who speaks."""
    content: Content
    """The instruction."""


class Prompt(_Part):
    """A message of the user."""

    role: Literal["user"]
    """Who speaks."""
    content: Content
    """What the user says."""


class CalledFunction(_Part):
    """A function the model wants called."""

    name: str
    """Its name."""
    arguments: str
    """Its arguments as JSON text; whatever the model wrote."""


class ToolCall(_Part):
    """A call in an earlier answer of the model."""

    id: str
    """Names the call; its result refers to it."""
    type: Literal["function"] = "function"
    """Always ``function``."""
    function: CalledFunction
    """What to call."""


class Reply(_Part):
    """An earlier answer of the model."""

    role: Literal["assistant"]
    """Who speaks."""
    content: Content | None = None
    """Text of the answer, if any."""
    tool_calls: list[ToolCall] | None = None
    """Calls of the answer, if any."""


class ToolResult(_Part):
    """What a tool call led to."""

    role: Literal["tool"]
    """Who speaks."""
    tool_call_id: str
    """`ToolCall.id` of an earlier answer."""
    content: Content
    """The result as text."""


Message = Annotated[Instruction | Prompt | Reply | ToolResult, Field(discriminator="role")]


class Function(_Part):
    """A function the model may call."""

    name: ToolName
    """Its name: 1..64 letters, digits, dash, underscore."""
    description: str | None = None
    """What it does."""
    parameters: dict[str, JsonValue] | None = None
    """JSON schema of its arguments; None: it takes none."""
    strict: bool | None = None
    """Whether the provider must enforce the schema."""


class Tool(_Part):
    """A tool the model may use."""

    type: Literal["function"]
    """Always ``function``."""
    function: Function
    """The function."""


class FunctionName(_Part):
    """A function by its name."""

    name: str
    """Its name."""


class ToolChoice(_Part):
    """The one tool that must be called."""

    type: Literal["function"]
    """Always ``function``."""
    function: FunctionName
    """Which."""


class Schema(_Part):
    """A schema that the answer must follow."""

    name: str
    """Name of the schema."""
    description: str | None = None
    """What the answer is for."""
    schema_: Annotated[dict[str, JsonValue], Field(alias="schema")]
    """The JSON schema."""
    strict: bool | None = None
    """Whether the provider must enforce it."""


class TextFormat(_Part):
    """Free text."""

    type: Literal["text"]
    """Always ``text``."""


class SchemaFormat(_Part):
    """JSON of a given form."""

    type: Literal["json_schema"]
    """Always ``json_schema``."""
    json_schema: Schema
    """The form."""


class StreamOptions(_Part):
    """What a stream brings besides the answer."""

    include_usage: bool | None = None
    """Whether its last chunk tells the tokens used."""


class ChatRequest(_Part):
    """The body of ``POST /v1/chat/completions``."""

    model: str
    """`ModelEntry.name`."""
    messages: Annotated[list[Message], Field(min_length=1)]
    """The conversation, oldest first."""
    stream: bool | None = None
    """Whether the answer is sent as it is made."""
    stream_options: StreamOptions | None = None
    """Only with `stream`."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Sampling temperature."""
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of the probability that is sampled from."""
    max_tokens: Positive | None = None
    """Most output tokens; `max_completion_tokens` goes before it."""
    max_completion_tokens: Positive | None = None
    """Most output tokens; None: the model's own bound."""
    stop: Annotated[str | list[str], Field(max_length=64)] | None = None
    """Texts the answer ends before."""
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    """Seed of the sampling, where the provider honours one."""
    presence_penalty: Penalty | None = None
    """Against topics that were mentioned."""
    frequency_penalty: Penalty | None = None
    """Against words that were used often."""
    tools: list[Tool] | None = None
    """What the model may call."""
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    """Whether it must call something."""
    parallel_tool_calls: bool | None = None
    """Whether one answer may hold several calls."""
    response_format: Annotated[TextFormat | SchemaFormat, Field(discriminator="type")] | None = None
    """Form of the answer."""
    n: int | None = None
    """Answers wanted: 1."""
    logprobs: bool | None = None
    """Not offered."""
    functions: list[JsonValue] | None = None
    """The older form of `tools`; not offered."""

    def refused(self) -> Refusal | None:
        """What is asked for and not offered; silence about it would mislead."""
        named = {tool.function.name for tool in self.tools or ()}
        if self.n not in (None, 1):
            return invalid("n: only one answer is given to a request", "unsupported")
        if self.logprobs:
            return invalid("logprobs: not offered", "unsupported")
        if self.functions:
            return invalid("functions: not offered, use tools", "unsupported")
        if isinstance(self.tool_choice, ToolChoice) and self.tool_choice.function.name not in named:
            return invalid("tool_choice: names no tool of this request")
        if self.tool_choice == "required" and not named:
            return invalid("tool_choice: there is no tool to choose")
        if len(named) != len(self.tools or ()):
            return invalid("tools: two have one name")
        if any(_refers(schema) for schema in self._schemas()):
            return invalid("a schema with $ref is not offered, write the definition where it is used", "unsupported")
        return None

    def _schemas(self) -> Iterator[JsonValue]:
        for tool in self.tools or ():
            yield tool.function.parameters
        if isinstance(self.response_format, SchemaFormat):
            yield self.response_format.json_schema.schema_


def _refers(schema: JsonValue) -> bool:
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if REFERENCES & one.keys():
                return True
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
    return False
