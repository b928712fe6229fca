"""How often each gate is fooled by candidates that cannot help; prints a table.

The operator `useless` proposes the same data again, reshuffled, with another seed, or nearly the same settings. What a
candidate is really worth is measured afterwards, on items that no part of the run has seen: it is useless when it does
not answer more of them rightly than the version it was trained from.

`python benchmarks/useless.py [PROPOSALS [SEED ...]]` runs the synthetic student through every gate;
`python benchmarks/useless.py --real` runs 20 proposals of a network trained to its plateau (some minutes).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from everloop.domains.base import Item
from everloop.domains.registry import domain
from everloop.domains.stream import Stream
from everloop.evidence.eprocess import log_e
from everloop.evidence.gates import Ruling, make_gate
from everloop.evidence.tally import Tally
from everloop.paths import RunPaths
from everloop.service import new_run, run_start, runs
from everloop.service.installation import Installation, open_installation
from everloop.service.request import StartRequest
from everloop.service.worker import spawn
from everloop.settings import Settings
from everloop.students.base import Trainer
from everloop.students.registry import trainer

GATES = ("two_line", "eprocess", "greedy")
USES = (1, 20)
"""Proposals compared on one dev set: a fresh set for each, or the default. A head that is lucky on its set stays so
until the set is drawn anew, and a gate that only compares accepts little meanwhile; a fresh set is the harder case."""
PANEL = ["rationale", "contamination", "regression"]
"""Without `significance`, which would refuse the second useless proposal before the gate sees it."""
SMALL = {
    "diag_per_family": 4,
    "admission_n": 40,
    "dev_n": 400,
    "dev_use_cap": USES[0],
    "eval_limit": 4000,
    "blind_n": 400,
}
ITEMS = 20_000
"""Fresh items on which true quality is measured."""
OTHER = 1_000_003
"""Added to the run's seed for the order of those items."""
PLUGINS = str(Path(__file__).resolve().parents[1] / "tests" / "plugins")
REAL = {"trainer": "nano-plateau", "launcher": "local-with-plugins"}
"""The built-in network with a base trained to its plateau, a plug-in of the tests."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One proposal, what was decided of it and what it is really worth."""

    candidate: str
    """Its name in the run."""
    sha256: str
    """Hash of its weights."""
    claimed: bool
    """Whether the gate made it a version."""
    truth: Tally
    """The candidate against the version it was trained from, on the fresh items."""

    @property
    def useless(self) -> bool:
        """Whether it does not answer more of them rightly."""
        return self.truth.wins <= self.truth.losses

    @property
    def really_better(self) -> bool:
        """Whether the fresh items show it to be better, at level .005."""
        return log_e(self.truth.wins, self.truth.losses) >= -log(0.005)


class Exam:
    """Fresh items, and what each checkpoint answers rightly of them; a checkpoint is measured once."""

    def __init__(self, items: Sequence[Item], student: Trainer, judge: Any) -> None:
        self._items, self._student, self._judge = items, student, judge
        self._known: dict[str, tuple[bool, ...]] = {}

    def rate(self, checkpoint: Path) -> float:
        """Share right."""
        outcomes = self.outcomes(checkpoint)[1]
        return sum(outcomes) / len(outcomes)

    def measure(self, checkpoints: Iterable[Path]) -> None:
        """Measure checkpoints side by side; the network leaves the interpreter's lock while it answers."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.outcomes, checkpoints))

    def outcomes(self, checkpoint: Path) -> tuple[str, tuple[bool, ...]]:
        """The hash of a checkpoint's weights, and one outcome an item."""
        sha = str(json.loads((checkpoint / "manifest.json").read_text())["weights_sha256"])
        if sha not in self._known:
            texts = self._student.sampler(checkpoint).sample([item.prompt for item in self._items])
            pairs = zip(self._items, texts, strict=True)
            self._known[sha] = tuple(self._judge.verify(item, text[0]) for item, text in pairs)
        return sha, self._known[sha]


def asked(run: str, gate: str, proposals: int, seed: int, **changes: Any) -> StartRequest:
    """The start of a run of useless proposals."""
    options = {"operator": "useless", "gate": gate, "seed": seed, "auditors": PANEL} | changes.pop("options", {})
    limits = {"model_usd_cap": 1.0} | SMALL | changes.pop("limits", {})
    document: dict[str, Any] = {"run": run, "brief": "Bring nothing.", "domain": "synthetic", "rounds": proposals}
    return StartRequest.from_json(document | {"limits": limits, "options": options} | changes)


def exam(paths: RunPaths, request: StartRequest, n: int = ITEMS) -> Exam:
    """`n` items of the set `train` in another order than the run's, without those the base was trained on."""
    found = domain(request.domain)
    with (paths.root / "rows" / "base.jsonl").open() as lines:
        taken = {json.loads(line)["prompt"] for line in lines}
    drawn, _ = Stream(found, request.options.seed + OTHER).draw_balanced("train", n + len(taken), {})
    items = [item for item in drawn if item.prompt not in taken][:n]
    return Exam(items, trainer(request.options.trainer), found)


def trials(paths: RunPaths, document: Mapping[str, Any], against: Exam) -> list[Trial]:
    """Every proposal of a finished run, with its true quality against its parent's."""
    made: list[Trial] = []
    head = certified = checkpoint_of(paths, "base")
    names = [candidate["candidate"] for one in document["rounds"] for candidate in one["candidates"]]
    against.measure([head, *(checkpoint_of(paths, name) for name in names)])
    for one in document["rounds"]:
        for candidate in one["candidates"]:
            name, decision = candidate["candidate"], candidate["decision"]
            checkpoint = checkpoint_of(paths, name)
            sha, mine = against.outcomes(checkpoint)
            made.append(Trial(name, sha, decision == "certified", Tally.of(mine, against.outcomes(head)[1])))
            if decision == "certified":
                head = certified = checkpoint
            elif decision in {"kept", "reverted"}:
                head = checkpoint if decision == "kept" else certified
    return made


def checkpoint_of(paths: RunPaths, name: str) -> Path:
    """Where a training of the run left its checkpoint, inside the worker or as a job."""
    inline = paths.root / "checkpoints" / name
    if inline.exists():
        return inline
    (job,) = sorted(paths.root.glob(f"jobs/{name}*/out/checkpoint"))
    return job


def replayed(gate_name: str, paths: RunPaths, request: StartRequest, made: Sequence[Trial]) -> list[bool]:
    """What a gate of one stage says of each candidate of a run against v0, on items fresh for each; True: claimed.

    For gates that only screen (`greedy`) or only test (`eprocess`), where building the candidates again takes too long.
    """
    limits = request.limits
    gate = make_gate(gate_name, setting="model", dev_n=limits.dev_n, eval_limit=limits.eval_limit)
    found, stream = domain(request.domain), Stream(domain(request.domain), request.options.seed)
    judge = gate.screen if gate.dev_n else gate.certify
    cursors: Mapping[str, int] = {}
    claims: list[bool] = []
    for one in made:
        tally, rate = Tally(), 0.5
        while (verdict := judge(gate.start(), tally, rate)).ruling is Ruling.MORE:
            items, cursors = stream.draw_balanced("certify", verdict.more, cursors)
            seen = Exam(items, trainer(request.options.trainer), found)
            (_, mine), (_, base) = (seen.outcomes(checkpoint_of(paths, name)) for name in (one.candidate, "base"))
            tally += Tally.of(mine, base)
            rate = (tally.losses + tally.both_right) / tally.pairs
        claims.append(verdict.ruling in {Ruling.MOVE, Ruling.SHOWN})
    return claims


def row(name: str, seed: int, made: Sequence[Trial], claims: Iterable[bool] | None = None) -> str:
    """One line of the table."""
    claimed = [trial.claimed for trial in made] if claims is None else list(claims)
    useless = [took for took, trial in zip(claimed, made, strict=True) if trial.useless]
    share = f"{sum(useless) / len(useless):.3f}" if useless else "—"
    better = sum(trial.really_better for trial in made)
    figures = f"{len(made)} | {better} | {sum(claimed)} | {len(useless)} | {sum(useless)} | {share}"
    return f"| {name} | {seed} | {figures} |"


HEADER = (
    "| gate | seed | proposals | really better | claimed | useless | useless claimed | share |\n"
    "|---|---|---|---|---|---|---|---|"
)


def carried(place: Installation, request: StartRequest) -> dict[str, Any]:
    """Let a worker carry a run to its end."""
    run_start.start(place, request)
    spawn(place).wait()
    document = runs.document(place, request.run, rounds=1000)
    if document["state"] != "finished":
        raise SystemExit(f"{request.run} is {document['state']}: {document.get('error')}")
    return document


def synthetic(place: Installation, proposals: int, seeds: Sequence[int]) -> None:
    """Every gate through the engine, for each seed."""
    print(f"synthetic student, {ITEMS} fresh items a checkpoint, {new_run.machine()}\n{HEADER}")
    for seed in seeds:
        against = None
        for gate, uses in (*((gate, USES[0]) for gate in GATES), ("two_line", USES[1]), ("greedy", USES[1])):
            run = f"{gate.replace('_', '-')}-{seed}-{uses}"
            request = asked(run, gate, proposals, seed, limits={"dev_use_cap": uses})
            document = carried(place, request)
            paths = place.home.run(request.run)
            against = against or exam(paths, request)
            name = gate if gate == "eprocess" else f"{gate}, dev set used {uses} x"
            print(row(name, seed, trials(paths, document, against)), flush=True)


def real(place: Installation, proposals: int, seed: int) -> None:
    """The network through the engine with the default gate; the other gates on the same candidates."""
    begun = time.monotonic()
    request = asked(f"real-{seed}", "two_line", proposals, seed, domain="arith", options=REAL)
    document = carried(place, request)
    paths = place.home.run(request.run)
    against = exam(paths, request)
    made = trials(paths, document, against)
    print(f"network, {ITEMS} fresh items a checkpoint, {new_run.machine()}\n{HEADER}")
    print(row("two_line", seed, made))
    for gate in GATES[1:]:
        print(row(gate, seed, made, replayed(gate, paths, request, made)), flush=True)
    gains = sorted(trial.truth.estimate or 0.0 for trial in made)
    print(f"v0 answers {against.rate(checkpoint_of(paths, 'base')):.4f} of the fresh items rightly")
    print(f"true changes: {' '.join(f'{gain:+.4f}' for gain in gains)}; {time.monotonic() - begun:.0f} s")


def main(argv: Sequence[str]) -> None:
    if PLUGINS not in sys.path:
        sys.path.append(PLUGINS)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PLUGINS, os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:
        place = open_installation(Settings(home=Path(folder)))
        if "--real" in argv:
            real(place, 20, 1)
        else:
            numbers = [int(text) for text in argv]
            synthetic(place, numbers[0] if numbers else 200, numbers[1:] or [1])
        place.close()


if __name__ == "__main__":
    main(sys.argv[1:])
