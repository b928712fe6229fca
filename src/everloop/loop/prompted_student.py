"""Answers of a model behind the gateway, asked with the prompt of an artifact."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from everloop.errors import EvaluationFailed, EverloopError, IncumbentUnavailable, ModelRefused
from everloop.events import Json
from everloop.gateway.base import ModelEntry, Purpose
from everloop.loop import prompts as prompt_files
from everloop.loop.context import Context
from everloop.students.prompt import REPLY_TOKENS, Prompt
from everloop.students.prompt_base import base_prompt

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.settings import ModelSettings

    from everloop.gateway.gateway import Gateway


def identity(entry: ModelEntry) -> Json:
    """Who answers and how it is asked, as a dry run's protocol freezes it."""
    asked: Json = {"temperature": 0.0, "max_tokens": REPLY_TOKENS, "seed": 0, "base_prompt": base_prompt().sha256}
    return {**entry.identity(), "asked": asked}


class PromptedStudent:
    """The student of a dry run. Each item is a call of its own, journalled until its round is over."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._model = str(context.options["student_model"])

    def answers(self, artifact: Path, prompts: Sequence[str], key: str) -> list[str | None]:
        """One answer a prompt at temperature 0, None where the model refused the request.

        EvaluationFailed when it refused all of them; CapReached and ModelUnavailable stop and pause the run.
        """
        prompt, gateway = self._ready(artifact)
        found = gateway.run(lambda: self._all(prompt, prompts, key))
        return [None if text is None else prompt.read(text) for text in _measured(found)]

    def _ready(self, artifact: Path) -> tuple[Prompt, Gateway]:
        """The prompt, and the gateway once the student is known to be the one of the protocol."""
        means, frozen = self._context.means, self._context.row.protocol.get("student")
        if identity(means.opening.entry(self._model)) != frozen:
            why = f"model {self._model} is configured differently than in the run's protocol"
            raise IncumbentUnavailable(
                "the student is another one", why=why, then="Configure it as it was, then resume"
            )
        return prompt_files.read(artifact), means.gateway

    async def _all(self, prompt: Prompt, prompts: Sequence[str], key: str) -> list[str | ModelRefused]:
        """The replies, in order. The first error that is not one item's own ends the asking; what is under way ends."""
        failed: list[EverloopError] = []
        turns = asyncio.Semaphore(self._context.means.opening.entry(self._model).concurrency)

        async def ask(place: int, task: str) -> str | ModelRefused:
            async with turns:
                return "" if failed else await answer(prompt.messages(task), f"{key}.{place}")

        async def answer(said: Sequence[tuple[str, str]], call: str) -> str | ModelRefused:
            try:
                return await self._one(said, call)
            except ModelRefused as error:
                if error.of_request:
                    return error  # this item's; a wrong key or model id is everybody's
                failed.append(error)
                return ""
            except EverloopError as error:
                failed.append(error)
                return ""

        found = await asyncio.gather(*(ask(place, task) for place, task in enumerate(prompts)))
        if failed:
            raise failed[0]
        return found

    async def _one(self, said: Sequence[tuple[str, str]], key: str) -> str:
        from pydantic_ai.models import ModelRequestParameters

        settings: ModelSettings = {"temperature": 0.0, "max_tokens": REPLY_TOKENS, "seed": 0}

        model = self._context.means.gateway.model(self._model, self._context.account, key, Purpose.STUDENT)
        response = await model.request(_messages(said), settings, ModelRequestParameters())
        return response.text or ""


def _measured(found: Sequence[str | ModelRefused]) -> list[str | None]:
    refused = [one for one in found if isinstance(one, ModelRefused)]
    if found and len(refused) == len(found):
        raise EvaluationFailed("the student refused every request", why=refused[0].message)
    return [one if isinstance(one, str) else None for one in found]


def _messages(said: Sequence[tuple[str, str]]) -> list[ModelMessage]:
    """The conversation in the gateway's words: a run of system and user texts is one request."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

    messages: list[ModelMessage] = []
    parts: list[SystemPromptPart | UserPromptPart] = []
    for role, text in said:
        if role == "assistant":
            messages += [ModelRequest(parts=parts), ModelResponse(parts=[TextPart(text)])]
            parts = []
        else:
            parts.append(SystemPromptPart(text) if role == "system" else UserPromptPart(text))
    return [*messages, ModelRequest(parts=parts)]
