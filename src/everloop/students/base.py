"""What a trainer and a sampler are. Implementations stand beside this file and never reach above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from everloop.events import JsonValue


@dataclass(frozen=True, slots=True)
class Row:
    """One training example, as JSON lines on disk: ``{"family", "prompt", "completion"}``."""

    family: str
    """Family the row counts for."""
    prompt: str
    """Natural text, e.g. ``47+38=``."""
    completion: str
    """Natural text, e.g. ``85``."""
    weight: float = 1.0
    """Relative sampling weight; positive."""


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """How a training runs; what a plan may set."""

    steps: int = 500
    """Optimiser steps."""
    batch_size: int = 128
    """Rows a step."""
    learning_rate: float = 2e-3
    """Peak learning rate."""

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return dict(asdict(self))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a trainer can do."""

    trains: bool
    """Whether it changes weights at all."""
    inline: bool
    """Whether training and sampling are so cheap that they run inside the worker, without a process."""
    billed: bool = False
    """Whether each sample is a request that counts against ``student_request_cap``."""


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """One training."""

    rows: Path
    """JSON lines of `Row`."""
    out: Path
    """Folder of the new checkpoint; written whole or not at all."""
    parent: Path | None
    """Checkpoint to go on from; None: fresh weights."""
    seed: int
    """Seed of weights (when fresh) and batches."""
    settings: TrainSettings
    """Steps, batch, learning rate."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """``manifest.json`` of a checkpoint: enough to tell whether bytes should repeat."""

    trainer: str
    """Name of the trainer."""
    weights_sha256: str
    """SHA-256 hex of the weights file."""
    parent_sha256: str | None
    """The parent's ``weights_sha256``; None for fresh weights."""
    rows_sha256: str | None
    """SHA-256 hex of the rows file; None for untrained weights."""
    rows: int
    """Rows trained on in this training."""
    seed: int
    """Seed of the training."""
    settings: Mapping[str, JsonValue]
    """`TrainSettings` in force."""
    threads: int
    """Threads the process used; bytes repeat only for the same number."""
    cpu: str
    """CPU capability or model; bytes repeat only on the same."""
    versions: Mapping[str, str]
    """Versions of python and libraries; bytes repeat only for the same."""


Report = Callable[[Mapping[str, JsonValue]], None]
"""Takes progress, e.g. ``{"step": 120, "steps": 500, "loss": 0.41}``."""


class Sampler(Protocol):
    """Answers prompts with one checkpoint."""

    def sample(self, prompts: Sequence[str], *, k: int = 1, temperature: float = 0.0, seed: int = 0) -> list[list[str]]:
        """`k` answers for each prompt, in order. Temperature 0 is greedy and ignores `seed`."""


class Trainer(Protocol):
    """Makes checkpoints and samplers. Found by the entry-point group ``everloop.trainers``."""

    @property
    def name(self) -> str:
        """Name used in a run and in manifests."""

    def capabilities(self) -> Capabilities:
        """What it can do; must not import heavy libraries."""

    def defaults(self, *, base: bool) -> TrainSettings:
        """Settings of a base training (`base`) or of a round's training."""

    def init(self, out: Path, seed: int) -> Manifest:
        """Write an untrained checkpoint."""

    def train(self, request: TrainRequest, report: Report) -> Manifest:
        """Train and write a checkpoint. JobFailed on a loss that is not finite."""

    def sampler(self, checkpoint: Path) -> Sampler:
        """Load a checkpoint. CheckpointCorrupt when its bytes do not match its manifest."""
