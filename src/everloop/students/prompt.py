"""A prompt as versioned text with allow-listed places: what a candidate of a dry run may change, and nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue

PLACES = ("system", "template", "answer_template", "examples", "layout", "reader", "marker")
"""Every place a candidate may change."""
TARGETS = {"examples": "context", "layout": "context"}
"""Place -> what an intervention that changes it targets, where that is not ``prompt``."""
LONGEST = 4000
"""Most characters of a text place."""
LONGEST_OF_ALL = 16_000
"""Most characters of all places together."""
MOST_EXAMPLES = 16
"""Most worked examples."""
REPLY_TOKENS = 48
"""Most tokens of a reply; fixed, so that no candidate buys its gain with longer answers."""


class Layout(StrEnum):
    """How worked examples are shown."""

    TURNS = "turns"
    """As earlier turns of the conversation."""
    INLINE = "inline"
    """Above the task, in one message."""


class Reader(StrEnum):
    """How a reply becomes the answer that the judge sees."""

    WHOLE = "whole"
    """All of it, without white space around it."""
    LAST_NUMBER = "last_number"
    """The last whole number in it; empty when there is none."""
    AFTER_MARKER = "after_marker"
    """What follows the last `marker` on its line; empty when there is none."""


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example."""

    family: str
    """Family of its task."""
    task: str
    """The task, as an item's prompt."""
    answer: str
    """Its right answer."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything between an item and its answer, apart from the model."""

    system: str = ""
    """System text; empty: none."""
    template: str = "{task}"
    """The user's message; holds ``{task}`` once."""
    answer_template: str = "{answer}"
    """How the answers of worked examples are written; holds ``{answer}`` once."""
    examples: tuple[Example, ...] = ()
    """Worked examples, in order."""
    layout: Layout = Layout.TURNS
    """How they are shown."""
    reader: Reader = Reader.LAST_NUMBER
    """How a reply becomes the answer."""
    marker: str = "ANSWER:"
    """What `Reader.AFTER_MARKER` looks for."""

    def check(self) -> Prompt:
        """Self, if every place holds what it may hold. InvalidRequest names the place that does not."""
        texts = {"system": self.system, "template": self.template, "answer_template": self.answer_template}
        for place, text in (texts | {"marker": self.marker}).items():
            _text(place, text)
        for place, hole in (("template", "{task}"), ("answer_template", "{answer}")):
            if texts[place].count(hole) != 1:
                raise InvalidRequest(f"prompt.{place} must hold {hole} exactly once", why=f"got {texts[place]!r:.120}")
        if not self.marker.strip():
            raise InvalidRequest("prompt.marker is empty")
        if len(self.examples) > MOST_EXAMPLES:
            raise InvalidRequest(f"prompt.examples has {len(self.examples)}", why=f"at most {MOST_EXAMPLES}")
        for one in self.examples:
            _text("examples", one.task)
            _text("examples", one.answer)
        if len(self.text) > LONGEST_OF_ALL:
            raise InvalidRequest("the prompt is too long", why=f"{len(self.text)} characters, at most {LONGEST_OF_ALL}")
        return self

    @property
    def text(self) -> str:
        """All that a student may read of it, without a task."""
        shown = [f"{one.task}\n{one.answer}" for one in self.examples]
        return "\n".join([self.system, self.template, self.answer_template, self.marker, *shown])

    def changed(self, other: Prompt) -> frozenset[str]:
        """Places in which two prompts differ."""
        return frozenset(place for place in PLACES if getattr(self, place) != getattr(other, place))

    def answer_of(self, example: Example) -> str:
        """The answer that this prompt's own reader finds in a worked example."""
        return self.read(self._answered(example.answer))

    def messages(self, task: str) -> list[tuple[str, str]]:
        """The conversation for a task: (``system``|``user``|``assistant``, text), the last one the user's."""
        shown = [(self._asked(one.task), self._answered(one.answer)) for one in self.examples]
        said: list[tuple[str, str]] = [("system", self.system)] if self.system else []
        if self.layout is Layout.INLINE:
            above = "".join(f"{asked}\n{answered}\n\n" for asked, answered in shown)
            return [*said, ("user", above + self._asked(task))]
        for asked, answered in shown:
            said += [("user", asked), ("assistant", answered)]
        return [*said, ("user", self._asked(task))]

    def read(self, reply: str) -> str:
        """The answer in a reply; empty when there is none."""
        if self.reader is Reader.WHOLE:
            return reply.strip()
        if self.reader is Reader.LAST_NUMBER:
            numbers = _NUMBER.findall(reply)
            return numbers[-1].replace(",", "") if numbers else ""
        _, found, after = reply.rpartition(self.marker)
        return after.partition("\n")[0].strip(" .*\t\r") if found else ""

    def _asked(self, task: str) -> str:
        return self.template.replace("{task}", task)

    def _answered(self, answer: str) -> str:
        return self.answer_template.replace("{answer}", answer)

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return {
            "system": self.system,
            "template": self.template,
            "answer_template": self.answer_template,
            "examples": [{"family": one.family, "task": one.task, "answer": one.answer} for one in self.examples],
            "layout": str(self.layout),
            "reader": str(self.reader),
            "marker": self.marker,
        }

    @classmethod
    def from_json(cls, document: JsonValue) -> Prompt:
        """The inverse of `to_json`, checked. InvalidRequest names what cannot be accepted."""
        if not isinstance(document, dict):
            raise InvalidRequest("prompt must be an object", why=f"got {document!r:.80}")
        unknown = sorted(set(document) - set(PLACES))
        if unknown:
            raise InvalidRequest(f"prompt.{unknown[0]:.40} may not be changed", then=f"Places: {', '.join(PLACES)}")
        given: Json = cls().to_json() | document
        try:
            layout, reader = Layout(str(given["layout"])), Reader(str(given["reader"]))
        except ValueError as error:
            raise InvalidRequest("prompt.layout or prompt.reader is not known", why=str(error)) from error
        texts = [given[place] for place in ("system", "template", "answer_template", "marker")]
        if not all(isinstance(text, str) for text in texts):
            raise InvalidRequest("prompt: system, template, answer_template and marker must be text")
        system, template, answer_template, marker = (str(text) for text in texts)
        examples = _examples(given["examples"])
        return cls(system, template, answer_template, examples, layout, reader, marker).check()

    @property
    def sha256(self) -> str:
        """SHA-256 hex of its canonical JSON."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


_NUMBER = re.compile(r"(?:(?<![\w.)])-)?(?:(?<![\d.])\d{1,3}(?:,\d{3})+(?!\d)|\d+)", re.ASCII)
"""A minus counts where nothing stands directly before it that it could be taken from."""


def _text(place: str, text: str) -> None:
    if len(text) > LONGEST:
        raise InvalidRequest(f"prompt.{place} is too long", why=f"{len(text)} characters, at most {LONGEST}")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidRequest(f"prompt.{place} is no text", why="it holds a zero byte or half a character")


def _examples(document: JsonValue) -> tuple[Example, ...]:
    if not isinstance(document, Sequence) or isinstance(document, str):
        raise InvalidRequest("prompt.examples must be a list")
    found = []
    for one in document:
        if not isinstance(one, dict) or set(one) != {"family", "task", "answer"}:
            raise InvalidRequest("an example has family, task and answer", why=f"got {one!r:.80}")
        if not all(isinstance(text, str) for text in one.values()):
            raise InvalidRequest("an example's family, task and answer must be text", why=f"got {one!r:.80}")
        found.append(Example(str(one["family"]), str(one["task"]), str(one["answer"])))
    return tuple(found)
