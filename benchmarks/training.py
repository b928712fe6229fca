"""What a training job costs beside the bare optimiser loop. Run: ``python benchmarks/training.py [STEPS]``."""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch.nn import functional

from everloop.domains.arith import Arith
from everloop.domains.stream import Stream
from everloop.students import codec
from everloop.students.base import Row, TrainRequest, TrainSettings
from everloop.students.model import Transformer
from everloop.students.nano import NanoTrainer
from everloop.students.training import Progress

REPEATS = 3


def bare(rows: list[Row], settings: TrainSettings) -> float:
    """CPU seconds of the loop written straight down: no reports, no files, uniform batches."""
    data = torch.tensor([codec.encode_prompt(row.prompt) + codec.encode_answer(row.completion) for row in rows])
    torch.manual_seed(0)
    model = Transformer()
    optimiser = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01, foreach=True)
    begun = time.process_time()
    for step in range(settings.steps):
        cosine = 0.5 * (1 + math.cos(math.pi * step / settings.steps))
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * min(1, (step + 1) / 20) * (0.05 + 0.95 * cosine)
        batch = data[torch.randint(len(data), (settings.batch_size,))]
        logits = model(batch[:, :-1])[:, codec.PROMPT_LENGTH - 1 :]
        wanted = batch[:, codec.PROMPT_LENGTH :]
        loss = functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), wanted.reshape(-1))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return time.process_time() - begun


def whole(rows: list[Row], settings: TrainSettings) -> float:
    """CPU seconds of the trainer: reading rows, weighted batches, progress, checkpoint with sync."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "rows.jsonl"
        file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
        begun = time.process_time()
        request = TrainRequest(file, folder / "checkpoint", None, 0, settings)
        NanoTrainer().train(request, Progress(folder / "status.json"))
        return time.process_time() - begun


def main(steps: int) -> None:
    torch.set_num_threads(1)
    settings = TrainSettings(steps=steps, batch_size=128, learning_rate=2e-3)
    items, _ = Stream(Arith(), 0).draw_balanced("train", 6600, {})
    rows = [Row(item.family, item.prompt, item.answer) for item in items]
    bare(rows, TrainSettings(steps=5))
    pairs = [(bare(rows, settings), whole(rows, settings)) for _ in range(REPEATS)]
    loop, trainer = (statistics.median(values) for values in zip(*pairs, strict=True))
    print(f"| {steps} steps of 128, median of {REPEATS} | cpu s | steps/s |")
    print("|---|---|---|")
    print(f"| bare loop | {loop:.2f} | {steps / loop:.1f} |")
    print(f"| trainer with rows, progress, checkpoint | {trainer:.2f} | {steps / trainer:.1f} |")
    print(f"| throughput kept | {loop / trainer:.1%} | |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
