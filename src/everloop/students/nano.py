"""The built-in student: a tiny transformer that is really trained, in seconds, on one thread of any processor.

PyTorch is imported when it is used, not with this module, so that naming and describing the trainer costs nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from everloop.errors import CheckpointCorrupt, EvaluationFailed, InvalidRequest, JobFailed, Unavailable
from everloop.students import checkpoints, codec
from everloop.students.base import Capabilities, Manifest, Report, Row, TrainRequest, TrainSettings
from everloop.students.rows import read_rows

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from everloop.students.model import Transformer

NAME = "nano"
WEIGHTS = "weights.safetensors"
BASE = TrainSettings(steps=500, batch_size=128, learning_rate=3e-3)
ROUND = TrainSettings(steps=500, batch_size=128, learning_rate=2e-3)
WARMUP, FINAL = 20, 0.05
"""Steps of linear warm-up; the share of the peak learning rate at the end of the cosine."""
REPORT_EVERY = 10
"""Steps between reports; reading the loss each step would cost more than the report is worth."""
DRAWN = 64
"""Batches whose rows are drawn at once."""
DECODED = 1024
"""Sequences decoded at once."""


class NanoTrainer:
    """Trains and samples `everloop.students.model.Transformer`."""

    name = NAME

    def capabilities(self) -> Capabilities:
        """It trains, in a process of its own, for nothing."""
        return Capabilities(trains=True, inline=False)

    def defaults(self, *, base: bool) -> TrainSettings:
        """500 steps of 128 rows, at 3e-3 for the base and 2e-3 for a round."""
        return BASE if base else ROUND

    def init(self, out: Path, seed: int) -> Manifest:
        """Write fresh weights."""
        return _save(out, _fresh(seed), lambda sha: _manifest(sha, seed=seed, settings=TrainSettings(steps=0)))

    def train(self, request: TrainRequest, report: Report) -> Manifest:
        """Train on answers only, rows drawn by weight with replacement. JobFailed on a loss that is not finite."""
        settings = _checked(request.settings)
        rows = read_rows(request.rows)
        parent = None
        if request.parent is None:
            model = _fresh(request.seed)
        else:
            parent, model = _load(request.parent)
        _fit(model, rows, settings, request.seed, report)
        digest = checkpoints.rows_digest(request.rows)
        return _save(
            request.out,
            model,
            lambda sha: _manifest(
                sha,
                parent=parent.weights_sha256 if parent else None,
                digest=digest,
                rows=len(rows),
                seed=request.seed,
                settings=settings,
            ),
        )

    def sampler(self, checkpoint: Path) -> NanoSampler:
        """Load a checkpoint."""
        return NanoSampler(_load(checkpoint)[1])


@dataclass(frozen=True)
class NanoSampler:
    """Answers with one set of weights, in batches; all prompts have one length, so a token costs one pass."""

    model: Transformer
    """The network."""

    def sample(self, prompts: Sequence[str], *, k: int = 1, temperature: float = 0.0, seed: int = 0) -> list[list[str]]:
        """`k` answers a prompt; EvaluationFailed for a prompt that is no task of this student."""
        import torch

        try:
            encoded = [codec.encode_prompt(prompt) for prompt in prompts]
        except ValueError as error:
            raise EvaluationFailed("the student cannot read a prompt", why=str(error)) from error
        generator = torch.Generator().manual_seed(seed)
        texts: list[str] = []
        step = max(1, DECODED // k)
        with torch.inference_mode():
            for start in range(0, len(encoded), step):
                ids = torch.tensor(encoded[start : start + step]).repeat_interleave(k, 0)
                texts += [codec.decode_answer(row) for row in self._continue(ids, temperature, generator)]
        return [texts[place : place + k] for place in range(0, len(texts), k)]

    def _continue(self, ids: Tensor, temperature: float, generator: Generator) -> list[list[int]]:
        import torch

        for _ in range(codec.ANSWER_LENGTH):
            logits = self.model(ids)[:, -1]
            if temperature > 0:
                chosen = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)
            else:
                chosen = logits.argmax(-1, keepdim=True)
            ids = torch.cat([ids, chosen], 1)
        answers: list[list[int]] = ids[:, codec.PROMPT_LENGTH :].tolist()
        return answers


def learning_rate(step: int, settings: TrainSettings) -> float:
    """Rate at a step: linear warm-up times a cosine from the peak to `FINAL` of it."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / settings.steps))
    return settings.learning_rate * min(1.0, (step + 1) / WARMUP) * (FINAL + (1 - FINAL) * cosine)


def _fit(model: Transformer, rows: list[Row], settings: TrainSettings, seed: int, report: Report) -> None:
    import torch

    data = torch.tensor(_encoded(rows))
    weights = torch.tensor([row.weight for row in rows], dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=0.01, foreach=True)
    model.train()
    for step in range(settings.steps):
        if step % DRAWN == 0:
            count = settings.batch_size * min(DRAWN, settings.steps - step)
            batches = torch.multinomial(weights, count, replacement=True, generator=generator)
            batches = batches.view(-1, settings.batch_size)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, settings)
        loss = _loss(model, data[batches[step % DRAWN]])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves Tensor.backward untyped
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % REPORT_EVERY == 0 or step == settings.steps - 1:
            report({"step": step + 1, "steps": settings.steps, "loss": _finite(loss.item(), step)})
    if not all(bool(weight.isfinite().all()) for weight in model.parameters()):
        raise JobFailed("the training ended with weights that are not finite", then="Lower the learning rate")


def _loss(model: Transformer, batch: Tensor) -> Tensor:
    """Cross-entropy of the answer's tokens; the prompt is given, so it teaches nothing."""
    from torch.nn import functional

    logits = model(batch[:, :-1])[:, codec.PROMPT_LENGTH - 1 :]
    wanted = batch[:, codec.PROMPT_LENGTH :]
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), wanted.reshape(-1))


def _finite(loss: float, step: int) -> float:
    if not math.isfinite(loss):
        raise JobFailed(f"the loss is {loss} at step {step + 1}", why="the training diverged", then="Lower its rate")
    return round(loss, 6)


def _encoded(rows: list[Row]) -> list[list[int]]:
    encoded = []
    for number, row in enumerate(rows, 1):
        try:
            encoded.append(codec.encode_prompt(row.prompt) + codec.encode_answer(row.completion))
        except ValueError as error:
            raise InvalidRequest(f"row {number} is nothing this student can learn", why=str(error)) from error
    return encoded


def _checked(settings: TrainSettings) -> TrainSettings:
    positive = settings.steps >= 1 and settings.batch_size >= 1 and settings.learning_rate > 0
    if not positive or not math.isfinite(settings.learning_rate):
        raise InvalidRequest(f"{settings} cannot be trained with", why="all three must be positive and finite")
    return settings


def _prepare() -> None:
    """Import PyTorch or say what is missing; make its results repeatable.

    One thread: for so small a network more threads cost time (spinning), and bytes differ between thread counts.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        import safetensors.torch  # noqa: F401 - whether it is there
        import torch
    except ModuleNotFoundError as error:
        raise Unavailable(
            "the trainer nano needs PyTorch", why=f"{error.name} is not installed", then="pip install 'everloop[train]'"
        ) from error
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def _fresh(seed: int) -> Transformer:
    _prepare()
    import torch

    from everloop.students.model import Transformer

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Transformer()


def _load(checkpoint: Path) -> tuple[Manifest, Transformer]:
    _prepare()
    import safetensors.torch

    manifest, weights = checkpoints.read(checkpoint)
    model = _fresh(0)
    try:
        model.load_state_dict(safetensors.torch.load(weights))
    except (RuntimeError, ValueError, safetensors.SafetensorError) as error:
        why = str(error).splitlines()[0]
        raise CheckpointCorrupt(f"checkpoint {checkpoint} holds no weights of {NAME}", why=why) from error
    return manifest, model.eval()


def _save(out: Path, model: Transformer, describe: Callable[[str], Manifest]) -> Manifest:
    import safetensors.torch

    weights = safetensors.torch.save({name: value.contiguous() for name, value in model.state_dict().items()})
    return checkpoints.save(out, weights, WEIGHTS, describe)


def _manifest(
    sha: str,
    *,
    seed: int,
    settings: TrainSettings,
    parent: str | None = None,
    digest: str | None = None,
    rows: int = 0,
) -> Manifest:
    import torch

    return Manifest(
        trainer=NAME,
        weights_sha256=sha,
        parent_sha256=parent,
        rows_sha256=digest,
        rows=rows,
        seed=seed,
        settings=settings.to_json(),
        threads=torch.get_num_threads(),
        cpu=f"{checkpoints.cpu_model()}, {torch.backends.cpu.get_cpu_capability()}",
        versions=checkpoints.versions({"torch": torch.__version__}),
    )
