"""Dry runs: a candidate is a prompt for a student behind the gateway; nothing is trained."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from everloop.events import Event, EventKind, Json
from everloop.loop import prompts
from everloop.loop.context import Context
from everloop.loop.journal import Done
from everloop.loop.kind import Student
from everloop.loop.leaks import leaked
from everloop.loop.lines import Artifact, Control, Lines
from everloop.loop.prompted_student import PromptedStudent
from everloop.operators.base import Plan
from everloop.operators.plans import PromptPlan
from everloop.store import experiences
from everloop.store.runs import RunRow
from everloop.students.base import Row
from everloop.students.prompt import TARGETS
from everloop.students.prompt_base import base_prompt


class PromptKind:
    """Runs whose candidates are prompts."""

    subject = "prompt"
    """Takes `PromptPlan`."""
    targets = frozenset({"prompt", "context"})
    """The words around a task, and the worked examples before it."""

    def student(self, context: Context) -> Student:
        """The model named at the start."""
        return PromptedStudent(context)

    def base(self, context: Context) -> Artifact:
        """v0: a plain prompt without examples."""
        prompt = base_prompt()
        told = f"v0 is a prompt for {context.options['student_model']}: {prompt.template}"
        return self._written(context, 0, "v0", PromptPlan(prompt), told)

    def control(self, context: Context, lines: Lines) -> Control | None:  # noqa: ARG002 - nothing is trained
        """None: training longer is no alternative where nothing is trained."""
        return None

    def refuses(self, plan: Plan) -> str | None:
        """A plan that is no prompt."""
        return None if isinstance(plan, PromptPlan) else "a dry run takes a prompt, nothing is trained"

    def gather(self, context: Context, number: int, name: str, plan: Plan) -> Json:  # noqa: ARG002 - all is in the plan
        """Nothing: a prompt plan holds all that it is made of."""
        return {}

    def changes(self, plan: Plan, head: Plan | None) -> frozenset[str]:
        """Targets of the places in which it differs from the head's prompt."""
        if not isinstance(plan, PromptPlan) or not isinstance(head, PromptPlan):
            return frozenset()
        return frozenset(TARGETS.get(place, "prompt") for place in plan.prompt.changed(head.prompt))

    def rows(self, context: Context, plan: Plan, gathered: Json) -> list[Row]:  # noqa: ARG002 - all is in the plan
        """Items of evaluation sets that stand anywhere in the prompt."""
        return [Row(one.family, one.prompt, one.answer) for one in leaked(context, cast(PromptPlan, plan).prompt.text)]

    def defects(self, context: Context, plan: Plan) -> list[str]:
        """Worked examples that are no failures of this run's diagnoses, or whose answers are not right."""
        prompt = cast(PromptPlan, plan).prompt
        with context.means.database.read() as tx:
            known = experiences.golds(tx, context.run, [one.task for one in prompt.examples])
        unknown = [one.task for one in prompt.examples if one.task not in known]
        wrong = [one.task for one in prompt.examples if one.task in known and prompt.answer_of(one) != known[one.task]]
        found = [f"examples: {task!r:.60} is no task that this run's diagnoses saw fail" for task in unknown[:3]]
        return found + [f"examples: the answer to {task!r:.60} is not the right one" for task in wrong[:3]]

    def block(self, lines: Lines, number: int, plan: Plan) -> tuple[Lines, Json | None]:  # noqa: ARG002 - no control
        """No control, no block."""
        return lines, None

    def build(self, context: Context, number: int, name: str, plan: Plan, gathered: Json, block: Json) -> Artifact:  # noqa: ARG002 - see `gather`
        """Write the candidate's prompt."""
        prompt = cast(PromptPlan, plan).prompt
        told = f"{name} is written: {len(prompt.examples)} worked examples, reader {prompt.reader}"
        return self._written(context, number, name, cast(PromptPlan, plan), told)

    def verify(self, artifact: Path) -> str:
        """Hash of the prompt as it is now."""
        return prompts.read(artifact).sha256

    def _written(self, context: Context, number: int, name: str, plan: PromptPlan, told: str) -> Artifact:
        def work(_: RunRow) -> Done:
            folder = prompts.write(context, name, plan.prompt)
            event = Event(EventKind.MESSAGE, told, number, "build", "loop", data={"candidate": name})
            return Done({"folder": folder, "sha256": plan.prompt.sha256}, [event])

        left = context.journal.phase(number, "build", work, candidate=name)
        examples = len(plan.prompt.examples)
        return Artifact(name, str(left["folder"]), str(left["sha256"]), examples, "", plan.to_json(), "config")
