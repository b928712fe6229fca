"""What of a candidate the preference model sees: figures of the change, of the reasons, and counted words.

Three blocks, always in this order: `NAMES` (figures with a name), `FIELDS` places for the plan's own fields, `WORDS`
places for words. Fields and words are hashed into their places, so that plans of any kind have the same width, and the
hash is CRC-32, which is the same in every process. Nothing here is learned and no language model is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import copysign, log, log1p, sqrt
from typing import cast
from zlib import crc32

import numpy as np

from everloop.evaluator.base import Candidate, Embedder, Floats
from everloop.evaluator.significance import to_head, to_refused
from everloop.events import Json
from everloop.operators.base import Plan
from everloop.operators.plans import plan_of

VERSION = 1
"""Raised whenever a feature changes its meaning: a calibration of another version is not used."""
FIELDS = 64
"""Places for fields of plans."""
WORDS = 256
"""Places for words."""
LONGEST = 8_000
"""Characters of a text that are read."""
_PARTS = ("what", "why", "expected_gain", "risks")
_FIGURE = re.compile(r"(?<![\w.])[-+]?\.?\d")
_WORD = re.compile(r"[^\W\d_][^\W_]{1,}")
_UNIDEAS = frozenset({"seed_salt"})  # another shuffle is not another idea

NAMES = (
    "lines_added",
    "lines_removed",
    "share_of_lines_changed",
    "fields_touched",
    "share_of_fields_touched",
    "largest_change",
    "mean_change",
    "settings_up",
    "settings_down",
    "size_of_plan",
    "interventions",
    "targets",
    "families",
    "has_head",
    "similarity_to_head",
    "similarity_to_refused",
    "refused_before",
    *(f"words_of_{part}" for part in _PARTS),
    "figures_in_reasons",
    "share_of_families_named",
    "share_of_distinct_words",
)
"""The figures with a name, in order."""


def vectors(candidates: Sequence[Candidate], embedder: Embedder | None = None) -> Floats:
    """One row a candidate: `NAMES`, fields, words, and the embedding where there is an embedder."""
    plain = np.array([_vector(candidate) for candidate in candidates], dtype=np.float64)
    plain = plain.reshape(len(candidates), len(NAMES) + FIELDS + WORDS)
    if embedder is None or not candidates:
        return plain
    made = np.asarray(embedder.embed([text(candidate.proposal) for candidate in candidates]), dtype=np.float64)
    if made.ndim != 2 or len(made) != len(candidates) or not np.isfinite(made).all():
        raise ValueError(f"embedder {embedder.name} must return one row of finite numbers a text")
    return np.hstack([plain, made])


def text(proposal: Json) -> str:
    """What words are counted in: the changed lines of the diff, what changes and why."""
    rationale = _rationale(proposal)
    return "\n".join([*_changed(str(proposal["diff"])), rationale["what"], rationale["why"]])[:LONGEST]


def _vector(candidate: Candidate) -> list[float]:
    plan = plan_of(cast(Json, candidate.proposal["plan"]))
    named = {**_diff(candidate), **_change(plan, candidate.head_plan), **_reasons(plan, candidate.proposal)}
    named |= {
        "has_head": float(candidate.head_plan is not None),
        "similarity_to_head": to_head(plan, candidate),
        "similarity_to_refused": to_refused(plan, candidate),
        "refused_before": log1p(len(candidate.tried)),
    }
    fields = _hashed(_fields(plan, candidate.head_plan), FIELDS)
    return [*(named[name] for name in NAMES), *fields, *_words(text(candidate.proposal))]


def _diff(candidate: Candidate) -> dict[str, float]:
    lines = str(candidate.proposal["diff"])[:LONGEST].splitlines()
    changed = list(_changed("\n".join(lines)))
    added = sum(line.startswith("+") for line in changed)
    body = max(1, len(lines) - sum(line.startswith(("---", "+++")) for line in lines))
    interventions = cast(list[Json], candidate.proposal["interventions"])
    return {
        "lines_added": log1p(added),
        "lines_removed": log1p(len(changed) - added),
        "share_of_lines_changed": len(changed) / body,
        "interventions": log1p(len(interventions)),
        "targets": float(len({str(one.get("target")) for one in interventions})),
    }


def _changed(diff: str) -> Iterator[str]:
    for line in diff.splitlines():
        if line.startswith(("+", "-")) and not line.startswith(("+++", "---")):
            yield line


def _change(plan: Plan, head: Plan | None) -> dict[str, float]:
    """How far the plan is from the head's; all 0 without a head, which ``has_head`` tells."""
    now, before = _described(plan), _described(head) if head is not None else {}
    touched = [name for name in now if name in before and now[name] != before[name]]
    ratios = [_ratio(now[name], before[name]) for name in touched]
    known = [ratio for ratio in ratios if ratio is not None]
    return {
        "fields_touched": float(len(touched)),
        "share_of_fields_touched": len(touched) / max(1, len(now)),
        "largest_change": max((abs(ratio) for ratio in known), default=0.0),
        "mean_change": sum(abs(ratio) for ratio in known) / max(1, len(known)),
        "settings_up": float(sum(ratio > 0 for ratio in known)),
        "settings_down": float(sum(ratio < 0 for ratio in known)),
        "size_of_plan": log1p(sum(len(str(value)) for value in now.values())),
        "families": float(len(plan.families)),
    }


def _reasons(plan: Plan, proposal: Json) -> dict[str, float]:
    rationale = _rationale(proposal)
    everything = " ".join(rationale.values())
    words = [word.lower() for word in _WORD.findall(everything)]
    named = sum(_names(everything, family) for family in plan.families)
    return {
        **{f"words_of_{part}": log1p(len(rationale[part].split())) for part in _PARTS},
        "figures_in_reasons": log1p(len(_FIGURE.findall(everything))),
        "share_of_families_named": named / max(1, len(plan.families)),
        "share_of_distinct_words": len(set(words)) / max(1, len(words)),
    }


def _rationale(proposal: Json) -> dict[str, str]:
    given = cast(Json, proposal["rationale"])
    return {part: str(given.get(part) or "")[:LONGEST] for part in _PARTS}


def _names(words: str, family: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(family)}(?![\w-])", words) is not None


def _described(plan: Plan) -> dict[str, object]:
    return {name: value for name, value in plan.describe().items() if name not in _UNIDEAS}


def _fields(plan: Plan, head: Plan | None) -> Iterator[tuple[str, float]]:
    """Named amounts: values, sizes of texts, and what moved against the head."""
    before: Mapping[str, object] = _described(head) if head is not None else {}
    for name, value in _described(plan).items():
        amount = _number(value)
        if amount is None:
            yield f"size:{name}", log1p(len(str(value)))
        else:
            yield f"value:{name}", copysign(log1p(abs(amount)), amount)
        if name in before and before[name] != value:
            ratio = _ratio(value, before[name])
            yield f"change:{name}", 1.0 if ratio is None else ratio
    for family in plan.families:
        yield f"family:{family}", 1.0


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ratio(now: object, before: object) -> float | None:
    """Log of the ratio of two settings, -3..3; None for what is no number."""
    new, old = _number(now), _number(before)
    if new is None or old is None:
        return None
    least = 1e-3 * max(abs(new), abs(old), 1e-9)  # from or to 0 is a large change and not an infinite one
    return max(-3.0, min(3.0, log(max(abs(new), least) / max(abs(old), least))))


def _words(words: str) -> list[float]:
    """Counts of words as 1 + log n, scaled to length 1; all 0 without a word."""
    counts = Counter(word.lower() for word in _WORD.findall(words))
    places = _hashed(((word, 1.0 + log(count)) for word, count in counts.items()), WORDS)
    length = sqrt(sum(value * value for value in places))
    return [value / length for value in places] if length else places


def _hashed(amounts: Iterator[tuple[str, float]], width: int) -> list[float]:
    """Amounts added up in their places; a second bit of the hash is the sign, so that collisions cancel on average."""
    places = [0.0] * width
    for name, amount in amounts:
        code = crc32(name.encode("utf-8", "surrogatepass"))
        places[(code >> 1) % width] += amount if code & 1 else -amount
    return places
