"""Measuring a candidate: the cheap pre-test, then the paired screen on the dev set against the working head."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import sqrt
from typing import cast

from sqlalchemy import Connection

from everloop.errors import EvaluationFailed
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.evidence.gates.base import Ruling, Verdict
from everloop.evidence.tally import Outcome, Tally
from everloop.loop import itemsets
from everloop.loop.context import Context, lines_of
from everloop.loop.journal import Done
from everloop.loop.lines import Artifact, DevSet
from everloop.loop.measure import Answers, FamilyTallies, Measure, by_family, outcomes_of, scores
from everloop.store import itemsets as stored_sets
from everloop.store import scores as stored_scores
from everloop.store.runs import RunRow


def draw_dev(context: Context, number: int, key: str) -> Json:
    """Phase: see that there is a dev set with the head's outcomes on it; drawn anew after a move and at its use cap."""
    return context.journal.phase(number, "dev", lambda row: _draw_dev(context, row, number), candidate=key)


def _draw_dev(context: Context, row: RunRow, number: int) -> Done:
    lines, size = lines_of(row), context.gate.dev_n or context.limits.dev_n
    if lines.dev is not None and lines.dev.uses < context.limits.dev_use_cap:
        return Done({"generation": lines.dev.generation})
    draw = itemsets.fresh(context, "dev", size)
    with context.means.database.read() as tx:
        generation = stored_sets.generations(tx, context.run, "dev") + 1
    measure = Measure(context, f"r{number}.dev.{generation}")
    answers = measure.incumbent(context.checkpoint(lines.head.checkpoint), draw.items)
    dev = DevSet(generation, dict(draw.start), answers.bits)
    figures = scores(draw.items, answers.outcomes)
    subject = lines.version if lines.head == lines.certified else None

    def write(tx: Connection) -> None:
        draw.keep(tx, context.run)
        stored_sets.renew(tx, context.run, "dev", generation, size, context.limits.dev_use_cap)
        if subject:
            for split, score in figures.items():
                stored_scores.put(tx, context.run, subject, "dev", split, score)

    text = f"dev set {generation} drawn: {size} items; {lines.head.name} answers {dev.head_rate:.3f} of them rightly"
    event = Event(EventKind.MESSAGE, text, number, "dev", "loop", data={"generation": generation, "n": size})
    return Done({"generation": generation}, [event], write, replace(lines, dev=dev))


def admit(context: Context, number: int, artifact: Artifact) -> Json:
    """Phase: the pre-test on `admission_n` fresh items; returns ``{"passed", "reason", "families"}``."""
    return context.journal.phase(
        number, "admit", lambda row: _admit(context, row, number, artifact), candidate=artifact.name
    )


def _admit(context: Context, row: RunRow, number: int, artifact: Artifact) -> Done:
    lines = lines_of(row)
    draw = itemsets.fresh(context, "diag", context.limits.admission_n)
    measure = Measure(context, f"r{number}.admit.{artifact.name}")
    head = measure.incumbent(context.checkpoint(lines.head.checkpoint), draw.items)
    mine = measure.candidate(context.checkpoint(artifact.checkpoint), draw.items)
    tally = Tally.of(mine.outcomes, head.outcomes)
    passed, reason = _admissible(tally)
    families = by_family(draw.items, mine.outcomes, head.outcomes)
    kind = EventKind.TOOL_RESULT
    event = Event(kind, f"pre-test of {artifact.name}: {reason}", number, "admit", "auditor", "pre-test")
    result: Json = {"passed": passed, "reason": reason, "families": tallies_json(families)}
    return Done(result | counts_json(mine, tally), [event], lambda tx: draw.keep(tx, context.run))


def _admissible(tally: Tally) -> tuple[bool, str]:
    """Refuse what is clearly worse: a net loss of over 5 % of the pairs that is also over two standard errors."""
    if tally.pairs == 0:
        return False, "no item was answered by both"
    net, spread = tally.losses - tally.wins, 2 * sqrt(tally.wins + tally.losses)
    figures = f"{tally.wins} won, {tally.losses} lost of {tally.pairs} pairs"
    if net > max(0.05 * tally.pairs, spread):
        return False, f"clearly worse than the head: {figures}"
    return True, f"not clearly worse than the head: {figures}"


def evaluate(context: Context, number: int, artifact: Artifact) -> Json:
    """Phase: the gate's screen on the dev set; returns the ruling with its figures and the counts per family."""
    return context.journal.phase(
        number,
        "evaluate",
        lambda row: _evaluate(context, row, number, artifact),
        candidate=artifact.name,
        announce=True,
    )


def _evaluate(context: Context, row: RunRow, number: int, artifact: Artifact) -> Done:
    lines = lines_of(row)
    dev = cast(DevSet, lines.dev)
    items = itemsets.again(context, "dev", len(dev.head), dev.start)
    head = outcomes_of(dev.head)
    measure = Measure(context, f"r{number}.evaluate.{artifact.name}")
    outcomes: list[Outcome] = []
    formed, tally = 0, Tally()
    while (verdict := context.gate.screen(lines.gate, tally, dev.head_rate)).ruling is Ruling.MORE:
        batch = items[len(outcomes) : len(outcomes) + verdict.more]
        if not batch:
            why = f"{context.gate.name} asks for {verdict.more} more than the {len(items)} items of the dev set"
            raise EvaluationFailed("the screen comes to no end", why=why)
        answers = replace(measure, key=f"{measure.key}.{len(outcomes)}").candidate(
            context.checkpoint(artifact.checkpoint), batch
        )
        outcomes += answers.outcomes
        formed += answers.formed
        tally = Tally.of(outcomes, head[: len(outcomes)])
    families = by_family(items[: len(outcomes)], outcomes, head[: len(outcomes)])
    screen = screen_json(tally, verdict)
    result: Json = {"ruling": str(verdict.ruling), "screen": screen, "families": tallies_json(families)}
    result |= counts_json(Answers((), tuple(outcomes), formed), tally)
    text, data = _told(artifact, tally, verdict), result | {"candidate": artifact.name}
    event = Event(EventKind.TOOL_RESULT, text, number, "evaluate", "loop", "gate", data)
    used = replace(lines, dev=replace(dev, uses=dev.uses + 1), gate=context.gate.screened(lines.gate, verdict))
    return Done(result, [event], lambda tx: stored_sets.use(tx, context.run, "dev", dev.generation), used)


def _told(artifact: Artifact, tally: Tally, verdict: Verdict) -> str:
    figures = f"{tally.wins} won, {tally.losses} lost of {tally.pairs} pairs"
    against = "" if verdict.threshold is None else f" (threshold {verdict.threshold:+.3f})"
    estimate = "—" if verdict.estimate is None else f"{verdict.estimate:+.3f}"
    return f"screen of {artifact.name}: {verdict.ruling}, {estimate}{against}, {figures}"


def counts_json(mine: Answers, tally: Tally) -> Json:
    """What the rule checks look at: how many were asked, answered, well-formed, missing."""
    asked = len(mine.outcomes)
    return {
        "asked": asked,
        "answered": asked - mine.outcomes.count(None),
        "formed": mine.formed,
        "candidate_missing": tally.candidate_missing,
        "baseline_missing": tally.baseline_missing,
    }


def screen_json(tally: Tally, verdict: Verdict) -> Json:
    """The ``screen`` object of the run document."""
    return {
        "wins": tally.wins,
        "losses": tally.losses,
        "pairs": tally.pairs,
        "estimate": verdict.estimate,
        "threshold": verdict.threshold,
    }


def tallies_json(families: FamilyTallies) -> dict[str, JsonValue]:
    """Counts per family as JSON."""
    return {family: cast(JsonValue, asdict(tally)) for family, tally in families.items()}


def tallies_of(document: JsonValue) -> FamilyTallies:
    """The inverse of `tallies_json`."""
    return {family: Tally(**counts) for family, counts in cast(dict[str, dict[str, int]], document).items()}


def added(one: FamilyTallies, other: FamilyTallies) -> FamilyTallies:
    """Counts of both, family by family."""
    return {family: one.get(family, Tally()) + other.get(family, Tally()) for family in {**one, **other}}
