"""How well the soft score tells recorded candidates apart, on histories whose signal is known; prints a table.

Each repetition records runs of eight candidates whose survival follows a logistic law of their plan (signal 0: a coin),
reads them back, calibrates, and compares with the law itself, which no model can beat. Then the drift alarm is asked
about noise, drift and honest progress.

`python benchmarks/evaluator.py [REPETITIONS]`
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import fmean

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "evaluator"))

from records import fill, worth

from everloop.evaluator import Evaluator, RoundOutcome, Verdict, calibrate, drift, verdicts
from everloop.evaluator.figures import auc
from everloop.evaluator.holdout import split
from everloop.operators.plans import plan_of
from everloop.store.database import Database
from everloop.store.verdicts import histories


def recorded(runs: int, signal: float, seed: int) -> list[Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/x.db")
        database.migrate()
        fill(database, runs, signal=signal, seed=seed)
        with database.read() as tx:
            found = [verdict for one in histories(tx, 5000) for verdict in verdicts(one)]
        database.close()
    return found


def ceiling(found: list[Verdict], signal: float) -> float:
    held = split(found).held_out
    chances = [worth(plan_of(one.candidate.proposal["plan"]), signal) for one in held]
    return auc(np.array(chances), [one.good for one in held])


def calibrations(repetitions: int) -> None:
    print("runs  verdicts  held out  signal  scores  AUC   best possible  Brier / rate   irrelevant low  seconds")
    for runs in (8, 24, 60):
        for signal in (0.0, 1.0, 3.0):
            made, best, seconds = [], [], []
            for seed in range(repetitions):
                found = recorded(runs, signal, seed)
                started = time.process_time()
                made.append(calibrate(found).report)
                seconds.append(time.process_time() - started)
                best.append(ceiling(found, signal))
            known = [one for one in made if one.auc is not None]
            scores = sum(not one.abstained for one in made)
            print(
                f"{runs:4}  {fmean(one.n for one in made):8.0f}  {fmean(one.held_out_n for one in made):8.0f}"
                f"  {signal:6}  {scores:2} of {len(made):2}"
                f"  {fmean(one.auc.value for one in known):.2f}  {fmean(best):13.2f}"
                f"  {fmean(one.brier for one in known):.2f} / {fmean(one.brier_of_rate for one in known):.2f}"
                f"  {fmean(one.irrelevant_low for one in known):14.0%}  {fmean(seconds):7.1f}",
                flush=True,
            )


def speed() -> None:
    found = recorded(24, 3.0, 2)
    evaluator = Evaluator(calibrate(found))
    started = time.process_time()
    for verdict in found:
        evaluator.score(verdict.candidate)
    print(f"\nscoring: {1000 * (time.process_time() - started) / len(found):.2f} ms a candidate (n={len(found)})")


def alarms(n: int = 1000, rounds: int = 30) -> None:
    def outcomes(random: Random, rise: float, gain: float) -> list[RoundOutcome]:
        return [
            RoundOutcome(place, 0.4 + rise * place + random.gauss(0, 0.08), gain + random.gauss(0, 0.01), False, 3, 0)
            for place in range(rounds)
        ]

    print(f"\nalarms within {rounds} rounds, asked every round (n={n})")
    for name, rise, gain in (("noise", 0.0, 0.0), ("drift", 0.02, 0.0), ("honest progress", 0.02, 0.01)):
        fired, first = 0, 0
        for seed in range(n):
            history = outcomes(Random(seed), rise, gain)
            fired += any(drift(history[:number]) for number in range(1, rounds + 1))
            first += drift(history[:12]) is not None
        print(f"  {name:16} {fired / n:.1%}; at one look after 12 rounds {first / n:.1%}", flush=True)


if __name__ == "__main__":
    alarms()
    speed()
    calibrations(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
