"""The operator that is a language model: it reads, thinks, and hands in candidates; the loop checks every one of them.

Whatever the model says ends in candidates or in none, with the reason told: nothing it says raises. What the gateway
raises (a cap, a model that is not there) goes through untouched. The same briefing and the same answers make the same
requests, so a turn that was cut off is worked again from the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic_ai import Agent, AgentRun, CallToolsNode, ModelRetry, RunContext, TextOutput, ToolOutput, UsageLimits
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import Model

from everloop.events import JsonValue
from everloop.gateway.base import Use
from everloop.operators.agent_checks import Problem, judged
from everloop.operators.agent_context import keeper
from everloop.operators.agent_failures import at_desk, reason_of, unwritable
from everloop.operators.agent_instructions import HAND_IN, STEER_BYTES, handing_in, instructions, opening
from everloop.operators.agent_output import MOST_CANDIDATES, Answer, form, read
from everloop.operators.agent_tools import Allowance, Tools
from everloop.operators.base import Briefing, Desk, Proposal
from everloop.operators.quoting import clean, clip, owner, quoted
from everloop.operators.similarity import near

MOST_REQUESTS = 12
"""Model requests of a turn."""
OUTPUT_RETRIES = 2
"""How often an answer that cannot be accepted is given back with the reason."""
_MOST_PARTS = 32
_MOST_FEEDBACK = 2_000
_MOST_TOLD = 16


class AgentOperator:
    """Proposes what a language model proposes. Needs a model for the use ``operator``."""

    name = "agent"
    """Name used in a start request."""
    asks = True
    """It is a model: a start is refused while none is configured for it."""
    subjects = ("training", "prompt")
    """It makes plans that train and plans for prompts."""

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        """Up to `MOST_CANDIDATES`, best first; empty, with the reason told at the desk, when the model gave none.

        A request that the endpoint refuses (`ModelRefused.of_request`) ends the turn without a candidate.
        ModelNotConfigured without a desk or a model; CapReached, ModelUnavailable and other refusals as the gateway
        raises them.
        """
        desk = at_desk(briefing.desk, Use.OPERATOR)
        return desk.run(Use.OPERATOR, lambda model: _Turn(briefing, desk).take(model))


class _Turn:
    """One turn of the operator."""

    def __init__(self, briefing: Briefing, desk: Desk) -> None:
        self._briefing, self._desk = briefing, desk
        self._allowance = Allowance()
        self._requests = 0
        self._run: AgentRun[object, Answer] | None = None
        self._given: list[tuple[str, int]] = []
        self._proposals: tuple[Proposal, ...] = ()

    async def take(self, model: Model) -> tuple[Proposal, ...]:
        """The turn, from the first request to the proposals."""
        try:
            answer, reason = await self._converse(self._agent(model))
        except Exception as error:  # noqa: BLE001 - `reason_of` raises what is not the model's saying
            answer, reason = None, reason_of(error)
        if answer is None:
            await self._tell(f"no candidate: {reason}", {"ended": reason})
            return ()
        if self._late():
            await self._tell("the turn is over", {})
        return self._proposals

    def _agent(self, model: Model) -> Agent[object, Answer]:
        subject, told = self._briefing.subject, instructions(self._briefing)

        def spoken(text: str) -> Answer:
            """An answer as text, from models that do not call tools."""
            return read(subject, text)

        agent: Agent[object, Answer] = Agent(
            model,
            name="operator",
            instructions=told,
            output_type=[
                ToolOutput(form(subject), name=HAND_IN, description=handing_in(self._briefing)),
                TextOutput(spoken),
            ],
            tools=Tools(self._briefing, self._allowance, self._boundary).all(),
            retries={"tools": OUTPUT_RETRIES, "output": OUTPUT_RETRIES},
            end_strategy="early",
            capabilities=[ProcessHistory(keeper(told))],
        )
        agent.output_validator(self._checked)
        return agent

    async def _converse(self, agent: Agent[object, Answer]) -> tuple[Answer | None, str]:
        """The model's answer, or None and why there is none."""
        limits = UsageLimits(request_limit=MOST_REQUESTS)
        async with agent.iter(opening(self._briefing), usage_limits=limits) as run:
            self._run = run
            async for node in run:
                if isinstance(node, CallToolsNode):
                    self._requests += 1
                    reason = await self._answered(node.model_response)
                    if reason:
                        return None, reason
            return (run.result.output, "") if run.result else (None, "the conversation ended without an answer")

    async def _answered(self, response: ModelResponse) -> str:
        """The turn boundary after an answer; why the turn ends here, or nothing."""
        calls = [part.tool_name for part in response.parts if isinstance(part, ToolCallPart)]
        if why := unwritable(response):
            return why
        if len(response.parts) > _MOST_PARTS:
            return f"an answer of {len(response.parts)} parts, at most {_MOST_PARTS}"
        if self._allowance.refused and calls and HAND_IN not in calls:
            return "it went on calling tools after it was refused, without handing in an answer"
        said = f"calls {quoted(', '.join(calls), 200)}" if calls else f"says {quoted(response.text or '', 300)}"
        await self._boundary(None, f"answer {self._requests}: the operator {said}", {"request": self._requests})
        return ""

    async def _boundary(self, tool: str | None, text: str, data: Mapping[str, JsonValue]) -> None:
        """Tell readers, and give the model with its next request what the owner said meanwhile."""
        for steer in await self._desk.turn(Use.OPERATOR, tool, text, data):
            self._given.append((steer, self._requests))
            if self._run is not None:
                self._run.enqueue(owner("a message that has just arrived", steer, STEER_BYTES))

    def _late(self) -> list[str]:
        """Steers that were given out after the model's last answer, which it can't have seen."""
        return [steer for steer, answers in self._given if answers >= self._requests]

    async def _checked(self, context: RunContext[object], answer: Answer) -> Answer:
        """Give an answer back with everything that is wrong with it, as long as there are tries left."""
        # in a thread: other runs' requests share this event loop
        self._proposals, problems = await asyncio.to_thread(self._judged, answer)
        if problems and not context.last_attempt:
            feedback = "\n".join(dict.fromkeys(f"- {one}" for one in problems))
            raise ModelRetry(f"Not accepted. Mend this and hand in again:\n{clip(feedback, _MOST_FEEDBACK)}")
        await self._boundary(None, *self._handed(answer, problems))
        return answer

    def _handed(self, answer: Answer, problems: Sequence[str]) -> tuple[str, dict[str, JsonValue]]:
        """What readers are told of an answer: every candidate in it, because not all of them are built."""
        given, most = len(answer.candidates), self._briefing.candidates
        told = f"the operator hands in {given} candidate(s)"
        told += f", of which at most {most} {'is' if most == 1 else 'are'} built" if given > most else ""
        told += f", {len(problems)} defect(s) left" if problems else ""
        told += f"; note: {quoted(answer.note, 300)}" if answer.note.strip() else ""
        return told, {
            "candidates": given,
            "at_most_built": most,
            "diffs": [quoted(one.diff, 400) for one in answer.candidates[:_MOST_TOLD]],
            "plans": [clip(clean(one.diff), 1_000) for one in self._proposals],
            "defects": [quoted(one, 300) for one in problems[:20]],
        }

    def _judged(self, answer: Answer) -> tuple[tuple[Proposal, ...], list[str]]:
        """The proposals of an answer and what is wrong with it, in words."""
        proposals: list[Proposal] = []
        wrong = [f"there is no field {quoted(name)}" for name in answer.model_extra or {}]
        if len(answer.candidates) > MOST_CANDIDATES:
            wrong.append(f"{len(answer.candidates)} candidates, at most {MOST_CANDIDATES}")
        for place, candidate in enumerate(answer.candidates[:MOST_CANDIDATES], 1):
            proposal, problems = judged(candidate, self._briefing)
            if any(near(proposal.plan, earlier.plan) for earlier in proposals):
                problems.append(Problem("", "nearly the same as an earlier candidate of this answer"))
            wrong += [f"candidate {place}: {problem.why}" for problem in problems]
            proposals.append(proposal)
        return tuple(proposals), wrong

    async def _tell(self, text: str, data: Mapping[str, JsonValue]) -> None:
        """The end of the turn. What the owner says from now on waits for the next; what came too late is told back."""
        if late := self._late():
            missed = "; ".join(quoted(one, 300) for one in late)
            text = f"{text}; came too late for this turn, please send again: {missed}"
            data = {**data, "late": len(late)}
        await self._desk.turn(Use.OPERATOR, None, text, data, deliver=False)
