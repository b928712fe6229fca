"""A student without a network, for tests of the engine, benchmarks and self-tests of gates.

Its weights are one number a family, the quality q, and a bitmap of the rows it has seen. The law of a training:

- a family with rows: ``q += (0.995 - q) * (1 - exp(-e * new / 150))``, where `new` counts rows never seen before (rows
  sharing one of 16,384 bits count as one) and ``e = min(1, steps / 500) * min(1, lr / 5e-4)``: the same rows again
  change nothing;
- wrong rows: q shrinks by their share; a learning rate above 1e-2: q shrinks by ``1e-2 / lr``; at 1 or more the loss is
  not finite and the training fails;
- a family without any row (no replay) is forgotten: ``q *= 0.7``.

It answers a prompt rightly where ``sqrt(.8) * difficulty(prompt) + sqrt(.2) * noise(weights, prompt)``, two standard
normals made from hashes, lies below q's quantile: deterministic, right with probability q over prompts, and correlated
between students by .8, as answers of related students are.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from pathlib import Path
from statistics import NormalDist

from everloop.errors import CheckpointCorrupt, InvalidRequest, JobFailed
from everloop.students import checkpoints
from everloop.students.base import Capabilities, Manifest, Report, Row, TrainRequest, TrainSettings
from everloop.students.rows import read_rows

WEIGHTS = "weights.json"
SECONDS = "EVERLOOP_SYNTHETIC_SECONDS"
"""Environment variable: least wall seconds of a training, so that there is time to interrupt it."""
TOP, FRESH, SCALE, FORGET, CORRELATION = 0.995, 0.02, 150.0, 0.7, 0.8
BITS = 1 << 14
_NORMAL = NormalDist()


def answer_to(prompt: str) -> str:
    """The right answer, by the law of the domain `synthetic` (a student may not import a domain)."""
    return f"{int.from_bytes(hashlib.sha256(f'answer:{prompt}'.encode()).digest()[:8], 'big') % 1_000_000:06d}"


@dataclass(frozen=True, slots=True)
class Weights:
    """What a synthetic checkpoint holds."""

    quality: dict[str, float]
    """Family -> share of its items that are answered rightly, 0..1."""
    seen: dict[str, int]
    """Family -> bitmap of rows seen."""
    seed: int
    """Seed of the training; makes two trainings on the same rows two students."""

    def to_bytes(self) -> bytes:
        """JSON, the same for the same values."""
        seen = {family: f"{bits:x}" for family, bits in self.seen.items()}
        document = {"quality": self.quality, "seen": seen, "seed": self.seed}
        return json.dumps(document, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Weights:
        """The inverse; CheckpointCorrupt for anything else."""
        try:
            document = json.loads(data)
            seen = {str(family): int(bits, 16) for family, bits in document["seen"].items()}
            quality = {str(family): float(value) for family, value in document["quality"].items()}
            return cls(quality, seen, int(document["seed"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointCorrupt("the checkpoint holds no synthetic weights", why=str(error)) from error


class SyntheticTrainer:
    """Trains by formula, inside the worker."""

    name = "synthetic"
    inline = True

    def capabilities(self) -> Capabilities:
        """Cheap enough to run inside the worker."""
        return Capabilities(trains=True, inline=self.inline)

    def defaults(self, *, base: bool) -> TrainSettings:  # noqa: ARG002 - one setting serves both
        """500 steps at 2e-3: the full gain."""
        return TrainSettings()

    def init(self, out: Path, seed: int) -> Manifest:
        """A student that knows nothing."""
        return self._save(out, Weights({}, {}, seed), seed=seed, settings=TrainSettings(steps=0))

    def train(self, request: TrainRequest, report: Report) -> Manifest:
        """Move the qualities by the law of the module."""
        begun = time.monotonic()
        rows = read_rows(request.rows)
        parent, before = None, Weights({}, {}, request.seed)
        if request.parent is not None:
            parent, data = checkpoints.read(request.parent)
            before = Weights.from_bytes(data)
        after = trained(before, rows, request.settings, request.seed)
        _last(begun, request.settings.steps, report)
        return self._save(
            request.out,
            after,
            seed=request.seed,
            settings=request.settings,
            parent=parent.weights_sha256 if parent else None,
            digest=checkpoints.rows_digest(request.rows),
            rows=len(rows),
        )

    def sampler(self, checkpoint: Path) -> SyntheticSampler:
        """Load a checkpoint."""
        manifest, data = checkpoints.read(checkpoint)
        return SyntheticSampler(Weights.from_bytes(data), manifest.weights_sha256)

    def _save(
        self,
        out: Path,
        weights: Weights,
        *,
        seed: int,
        settings: TrainSettings,
        parent: str | None = None,
        digest: str | None = None,
        rows: int = 0,
    ) -> Manifest:
        def describe(sha: str) -> Manifest:
            return Manifest(
                trainer=self.name,
                weights_sha256=sha,
                parent_sha256=parent,
                rows_sha256=digest,
                rows=rows,
                seed=seed,
                settings=settings.to_json(),
                threads=1,
                cpu="any",
                versions=checkpoints.versions(),
            )

        return checkpoints.save(out, weights.to_bytes(), WEIGHTS, describe)


class SyntheticJobTrainer(SyntheticTrainer):
    """The same student, trained by a job and sampled by a process, as a real one is."""

    name = "synthetic-job"
    inline = False


@dataclass(frozen=True, slots=True)
class SyntheticSampler:
    """Answers by hashes."""

    weights: Weights
    """Qualities."""
    identity: str
    """The checkpoint's identity; another one errs on other items."""

    def sample(self, prompts: Sequence[str], *, k: int = 1, temperature: float = 0.0, seed: int = 0) -> list[list[str]]:
        """`k` answers a prompt; with temperature 0 all the same."""
        draws = [f"{seed}/{turn}" if temperature > 0 else "" for turn in range(k)]
        return [[self._answer(prompt, draw) for draw in draws] for prompt in prompts]

    def _answer(self, prompt: str, draw: str) -> str:
        right = answer_to(prompt)
        quality = self.weights.quality.get(prompt.partition(":")[0], FRESH)
        own = _normal(f"noise:{self.identity}:{draw}:{prompt}")
        standing = sqrt(CORRELATION) * _normal(f"difficulty:{prompt}") + sqrt(1 - CORRELATION) * own
        if standing < _NORMAL.inv_cdf(min(max(quality, 1e-9), 1 - 1e-9)):
            return right
        return f"{(int(right) + 1) % 1_000_000:06d}"


def trained(before: Weights, rows: Sequence[Row], settings: TrainSettings, seed: int) -> Weights:
    """The weights after a training: the module's law."""
    if settings.steps < 1 or not settings.learning_rate > 0:
        raise InvalidRequest(f"{settings} cannot be trained with", why="steps and rate must be positive")
    if settings.learning_rate >= 1:
        raise JobFailed("the loss is nan at step 1", why="the training diverged", then="Lower the learning rate")
    effect = min(1.0, settings.steps / 500) * min(1.0, settings.learning_rate / 5e-4)
    damage = min(1.0, 1e-2 / settings.learning_rate)
    given: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        given[row.family].append(row)
    quality, seen = {}, {}
    for family in sorted(set(before.quality) | set(given)):
        known, q = before.seen.get(family, 0), before.quality.get(family, FRESH)
        mine = given.get(family, [])
        bits = known
        for row in mine:
            bits |= 1 << _bit(row.prompt)
        new = bits.bit_count() - known.bit_count()
        if mine:
            wrong = sum(row.completion != answer_to(row.prompt) for row in mine) / len(mine)
            q = max(q, q + (TOP - q) * (1 - exp(-effect * new / SCALE))) * (1 - wrong)
        else:
            q *= FORGET
        quality[family], seen[family] = q * damage, bits
    return Weights(quality, seen, seed)


def _last(begun: float, steps: int, report: Report) -> None:
    """Report, and take at least as long as the environment asks for."""
    least = float(os.environ.get(SECONDS, "0") or 0)
    while (gone := time.monotonic() - begun) < least:
        report({"step": int(steps * gone / least), "steps": steps})
        time.sleep(min(0.05, least - gone))
    report({"step": steps, "steps": steps})


def _bit(prompt: str) -> int:
    return int.from_bytes(hashlib.sha256(f"row:{prompt}".encode()).digest()[:8], "big") % BITS


def _normal(text: str) -> float:
    """A standard normal number from a text."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 11
    return _NORMAL.inv_cdf((number + 0.5) / (1 << 53))
