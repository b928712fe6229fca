"""Which verdicts a model is fitted on and which it is measured on: whole runs on either side, never part of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from everloop.evaluator.base import Verdict

SHARE = 0.3
"""Share of the verdicts that is held out, at least."""
MOST = 0.5
"""Share that one held-out run more may not pass."""
EACH = 3
"""Verdicts of each class that must be held out, and that must be left to fit on."""


@dataclass(frozen=True, slots=True)
class Split:
    """Verdicts to fit on and verdicts to measure on."""

    training: Sequence[Verdict]
    """To fit on."""
    held_out: Sequence[Verdict]
    """To measure on."""
    by: str
    """``run``, or ``time`` where all verdicts are of one run."""
    repeated: int
    """Verdicts that were left out of `training` because the very same proposal is held out."""


def split(verdicts: Sequence[Verdict]) -> Split:
    """Hold out whole runs, in an order given by their ids, or the later part of a single run.

    The order does not depend on the verdicts, so a run that was held out tends to stay so as more are recorded. Changes
    that belong to no run are fitted on. A proposal that is held out is nowhere in the training, whatever its run.
    """
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.group].append(verdict)
    loose = groups.pop("", [])
    held, by = (_runs(groups), "run") if len(groups) > 1 else (_late(groups), "time")
    names = {(one.group, one.name) for one in held}
    digests = {one.digest for one in held}
    rest = [one for runs in groups.values() for one in runs if (one.group, one.name) not in names] + loose
    training = [one for one in rest if one.digest not in digests]
    return Split(training, held, by, len(rest) - len(training))


def folds(verdicts: Sequence[Verdict], most: int = 5) -> list[list[int]]:
    """Indices of up to `most` parts of about one size, whole runs each; empty when there are not two runs."""
    groups: dict[str, list[int]] = defaultdict(list)
    for index, verdict in enumerate(verdicts):
        groups[verdict.group or f"{verdict.digest}"].append(index)
    parts: list[list[int]] = [[] for _ in range(min(most, len(groups)))]
    for group in sorted(groups, key=lambda name: (-len(groups[name]), crc32(name.encode()))):
        min(parts, key=len).extend(groups[group])
    return parts if len(parts) > 1 else []


def enough(verdicts: Sequence[Verdict]) -> bool:
    """Whether both classes are there `EACH` times."""
    good = sum(one.good for one in verdicts)
    return min(good, len(verdicts) - good) >= EACH


def _runs(groups: dict[str, list[Verdict]]) -> list[Verdict]:
    total = sum(map(len, groups.values()))
    held: list[Verdict] = []
    for name in sorted(groups, key=lambda name: crc32(name.encode())):
        if len(held) >= SHARE * total and enough(held):
            break
        if len(held) + len(groups[name]) <= MOST * total:
            held += groups[name]
    return held or min(groups.values(), key=len)


def _late(groups: dict[str, list[Verdict]]) -> list[Verdict]:
    only = [one for run in groups.values() for one in run]
    return only[len(only) - round(SHARE * len(only)) :]
