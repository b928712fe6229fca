"""The kinds of plans: rows and settings of a training, or the prompt of a student behind the gateway."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import cast

from everloop.events import Json, JsonValue
from everloop.operators.base import Plan
from everloop.students.base import TrainSettings
from everloop.students.prompt import Prompt
from everloop.values import built


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What a candidate that is trained is made from."""

    families: tuple[str, ...]
    """Families whose verified samples are the new rows."""
    rows_per_family: int
    """At most so many new rows a family."""
    replay_share: float
    """Share of each batch drawn from rows already known, 0..1; 0 is no replay."""
    settings: TrainSettings
    """Steps, batch, learning rate."""
    source: str = "collected"
    """``collected``: rows are sampled from the head and verified; ``known``: only rows already known, nothing new."""
    seed_salt: int = 0
    """Mixed into the training seed; another salt is another shuffle of the same plan."""

    @property
    def renews(self) -> bool:
        """Whether samples of a better head make it another candidate."""
        return self.source == "collected"

    def fingerprint(self) -> str:
        """Short hash by which a rejected plan is recognised."""
        return _fingerprint(self)

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return {
            "kind": "training",
            "families": list(self.families),
            "rows_per_family": self.rows_per_family,
            "replay_share": self.replay_share,
            "settings": self.settings.to_json(),
            "source": self.source,
            "seed_salt": self.seed_salt,
        }

    def describe(self) -> Mapping[str, object]:
        """Field -> value in words."""
        return {
            "families": ", ".join(self.families) or "none",
            "rows_per_family": self.rows_per_family,
            "replay_share": self.replay_share,
            **self.settings.to_json(),
            "source": self.source,
            "seed_salt": self.seed_salt,
        }

    def similarity(self, other: Plan) -> float:
        """The least similar field of two plans, 0..1.

        Families: shared ones by all (Jaccard); counts and rates: the smaller by the larger; replay: one minus the
        difference; source: all or nothing. The seed is left out, because another shuffle is not another idea, and so
        are words, because the same plan in other words builds the same candidate.
        """
        if not isinstance(other, TrainingPlan) or self.source != other.source:
            return 0.0
        return min(
            _shared(set(self.families), set(other.families)),
            _ratio(self.rows_per_family, other.rows_per_family),
            1.0 - abs(self.replay_share - other.replay_share),
            _ratio(self.settings.steps, other.settings.steps),
            _ratio(self.settings.batch_size, other.settings.batch_size),
            _ratio(self.settings.learning_rate, other.settings.learning_rate),
        )


@dataclass(frozen=True, slots=True)
class PromptPlan:
    """What a candidate of a dry run is made from: the whole prompt."""

    prompt: Prompt
    """The prompt."""
    families: tuple[str, ...] = ()
    """Families it is meant to help."""

    @property
    def renews(self) -> bool:
        """Never: the same prompt is the same candidate, whatever the head."""
        return False

    def fingerprint(self) -> str:
        """Short hash of the prompt alone; which families it is meant for is not what it is."""
        return self.prompt.sha256[:16]

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return {"kind": "prompt", "families": list(self.families), "prompt": self.prompt.to_json()}

    def describe(self) -> Mapping[str, object]:
        """Place -> text; examples one a line."""
        prompt = self.prompt
        shown = "; ".join(f"{one.task} {one.answer}" for one in prompt.examples)
        return {**prompt.to_json(), "examples": shown or "none"}

    def similarity(self, other: Plan) -> float:
        """The least similar place of two prompts, 0..1: texts by common words in order, examples by shared ones."""
        if not isinstance(other, PromptPlan):
            return 0.0
        mine, theirs = self.prompt, other.prompt
        if (mine.layout, mine.reader) != (theirs.layout, theirs.reader):
            return 0.0
        texts = [(mine.system, theirs.system), (mine.template, theirs.template)]
        texts += [(mine.answer_template, theirs.answer_template), (mine.marker, theirs.marker)]
        return min(
            _shared(set(mine.examples), set(theirs.examples)),
            *(_alike(one, two) for one, two in texts),
        )


def plan_of(document: Json) -> Plan:
    """The inverse of `Plan.to_json`."""
    families = tuple(cast(list[str], document["families"]))
    if document["kind"] == "prompt":
        return PromptPlan(Prompt.from_json(document["prompt"]), families)
    given = {field.name: document[field.name] for field in fields(TrainingPlan)}
    return built(
        TrainingPlan, given, families=families, settings=built(TrainSettings, cast(Json, document["settings"]))
    )


_LOOKED_AT = 0.75
"""Share of words in common from which their order is worth its price, which grows with the product of the lengths."""


def _fingerprint(plan: Plan) -> str:
    return hashlib.sha256(json.dumps(plan.to_json(), sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Words:
    """A text taken apart, for comparing it with many others."""

    words: tuple[str, ...]
    counts: Counter[str]
    places: Mapping[str, int]  # word -> bit n is set where word n is this one


@lru_cache(maxsize=16)
def _taken_apart(text: str) -> _Words:
    words, places = tuple(text.split()), dict[str, int]()
    for place, word in enumerate(words):
        places[word] = places.get(word, 0) | 1 << place
    return _Words(words, Counter(words), places)


def _alike(one: str, other: str) -> float:
    """Share of words in common, in order. Where too few are in common, their order is not looked at."""
    first, second = _taken_apart(one), other.split()
    together = len(first.words) + len(second)
    if one == other or not together:
        return 1.0
    bound = 2 * (first.counts & Counter(second)).total() / together
    return 2 * _in_order(first, second) / together if bound >= _LOOKED_AT else bound


def _in_order(first: _Words, second: Sequence[str]) -> int:
    """Length of the longest common subsequence.

    Bit-parallel (Hyyrö 2004, "Bit-parallel LCS-length computation revisited"): a row of the table is one integer, so
    the worst case of two longest texts takes about a millisecond, whatever words they are made of.
    """
    row = whole = (1 << len(first.words)) - 1
    for word in second:
        met = row & first.places.get(word, 0)
        row = (row + met | row - met) & whole
    return len(first.words) - row.bit_count()


def _shared(mine: Set[object], theirs: Set[object]) -> float:
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0


def _ratio(one: float, other: float) -> float:
    low, high = sorted((abs(one), abs(other)))
    return low / high if high else 1.0
