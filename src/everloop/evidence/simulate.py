"""Simulations of whole runs that drive production gates: single steps, and runs that compound within a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from everloop.events import Json
from everloop.evidence.gates.base import Gate, GateState, Ruling, Verdict
from everloop.evidence.tally import Tally
from everloop.evidence.world import Bench, Bits, World

Draw = Callable[[int], Tally]


@dataclass(frozen=True, slots=True)
class Steps:
    """What a policy does with single candidates against a fixed incumbent."""

    policy: str
    """Gate."""
    far: float | None
    """Accepted among not-better; None when there was none."""
    fdp: float
    """Not-better among accepted, mean over repetitions; 0 in one that accepted nothing."""
    power: float | None
    """Accepted among better; None when there was none."""
    evals_per_candidate: float
    """Item evaluations, two a pair."""
    points_per_1000: float
    """Summed true change of what was accepted, in points, per 1000 rounds."""

    def to_json(self) -> Json:
        """The fields as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Runs:
    """Where a policy ends within a budget of item evaluations."""

    policy: str
    """Gate."""
    true_best: float
    """True quality of what is reported as best, mean over repetitions."""
    false_claims: float | None
    """Share of claims whose version was not better than the one before; None without claims."""
    claims_per_run: float
    """Claims, mean over repetitions."""
    true_best_se: float
    """Standard error of `true_best`."""

    def to_json(self) -> Json:
        """The fields as JSON."""
        return asdict(self)


def drive(ask: Callable[[Tally], Verdict], draw: Draw) -> tuple[Verdict, Tally]:
    """Measure what a gate asks for until it has decided."""
    tally = Tally()
    while (verdict := ask(tally)).ruling is Ruling.MORE:
        tally += draw(verdict.more)
    return verdict, tally


def step(gate: Gate, state: GateState, rate: float, draw: Draw) -> tuple[bool, GateState, int]:
    """One candidate judged by itself: accepted or not, the state after, pairs used. Each move is certified at once."""
    verdict, screened = drive(lambda tally: gate.screen(state, tally, rate), draw)
    after = gate.screened(state, verdict)
    if verdict.ruling is not Ruling.MOVE or not gate.wants_certification(after, last=True):
        return False, after, screened.pairs
    final, fresh = drive(lambda tally: gate.certify(after, tally, rate), draw)
    shown = final.ruling is Ruling.SHOWN
    return shown, gate.certified(after, shown=shown), screened.pairs + fresh.pairs


def simulate_steps(gate: Gate, *, rounds: int, reps: int, seed: int, world: World | None = None) -> Steps:
    """Single steps against an incumbent of quality `world.start`; nothing compounds. ValueError for counts below 1."""
    _positive(rounds=rounds, reps=reps)
    world = world or World()
    accepted, changes = np.zeros((reps, rounds), bool), np.zeros((reps, rounds))
    pairs = 0
    for rep, own in enumerate(_seeds(seed, reps)):
        bench, state = Bench(world, own), gate.start()
        for place in range(rounds):
            changes[rep, place] = change = bench.change()
            draw = _fresh(bench, min(0.98, max(0.02, world.start + change)), world.start)
            accepted[rep, place], state, used = step(gate, state, world.start, draw)
            pairs += used
    better = changes > 0
    wrong = (accepted & ~better).sum(1) / np.maximum(1, accepted.sum(1))
    return Steps(
        gate.name,
        float(accepted[~better].mean()) if (~better).any() else None,
        float(wrong.mean()),
        float(accepted[better].mean()) if better.any() else None,
        2 * pairs / (rounds * reps),
        float((changes * accepted).sum() * 100 * 1000 / (rounds * reps)),
    )


def simulate_runs(
    gate: Gate, *, budget: int, reps: int, seed: int, world: World | None = None, use_cap: int = 20
) -> Runs:
    """Runs that compound until `budget` item evaluations are spent. ValueError for counts below 1."""
    _positive(budget=budget, reps=reps, use_cap=use_cap)
    ends = [_Run(gate, Bench(world or World(), own), use_cap).until(budget) for own in _seeds(seed, reps)]
    best = np.array([run.best for run in ends])
    claims = [claim for run in ends for claim in run.claims]
    false = 1 - sum(claims) / len(claims) if claims else None
    error = float(best.std() / reps**0.5)
    return Runs(gate.name, float(best.mean()), false, len(claims) / reps, error)


class _Run:
    """The two lines of one simulated run."""

    def __init__(self, gate: Gate, bench: Bench, use_cap: int) -> None:
        self.gate, self.bench, self.use_cap = gate, bench, use_cap
        self.head = self.best = bench.world.start
        self.state, self.claims = gate.start(), list[bool]()
        self._redraw()

    def until(self, budget: int) -> _Run:
        while self.bench.spent < budget:
            self._round()
        self._certify(last=True)
        return self

    def _redraw(self) -> None:
        self.items, self.uses = self.bench.items(self.gate.dev_n), 0
        self.outcomes = self.bench.run(self.head, self.items)

    def _round(self) -> None:
        if self.gate.redraws_head and self.gate.dev_n and self.uses >= self.use_cap:
            self._redraw()
        candidate, rate = self.bench.propose(self.head), float(self.outcomes.mean()) if self.gate.dev_n else self.head
        self.uses += 1
        seen: list[Bits] = []

        def draw(n: int) -> Tally:
            at = sum(map(len, seen))
            seen.append(self.bench.run(candidate, self.items[at : at + n]))
            return _tally(seen[-1], self.outcomes[at : at + n])

        verdict, _ = drive(lambda tally: self.gate.screen(self.state, tally, rate), draw)
        self.state = self.gate.screened(self.state, verdict)
        if verdict.ruling is Ruling.MOVE:
            self.head = candidate
            if self.gate.redraws_head and self.gate.dev_n:
                self._redraw()
            elif seen:
                self.outcomes = np.concatenate(seen)
            self._certify(last=False)

    def _certify(self, *, last: bool) -> None:
        if not self.gate.wants_certification(self.state, last=last):
            return
        draw = _fresh(self.bench, self.head, self.best)
        verdict, _ = drive(lambda tally: self.gate.certify(self.state, tally, self.best), draw)
        shown = verdict.ruling is Ruling.SHOWN
        self.state = self.gate.certified(self.state, shown=shown)
        if shown:
            self.claims.append(self.head > self.best)
            self.best = self.head
        else:
            self.head = self.best
            if self.gate.dev_n:
                self._redraw()


def _fresh(bench: Bench, candidate: float, baseline: float) -> Draw:
    def draw(n: int) -> Tally:
        items = bench.items(n)
        return _tally(bench.run(candidate, items), bench.run(baseline, items))

    return draw


def _tally(one: Bits, other: Bits) -> Tally:
    both, wins, losses = int((one & other).sum()), int((one & ~other).sum()), int((other & ~one).sum())
    return Tally(wins, losses, both, len(one) - both - wins - losses)


def _seeds(seed: int, reps: int) -> list[int]:
    return [int(one) for one in np.random.SeedSequence(seed).generate_state(reps)]


def _positive(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} must be at least 1, not {count}")
