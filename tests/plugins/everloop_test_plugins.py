"""Plug-ins as a third party would ship them, found by entry points: an operator that pays, students that go wrong."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from everloop.domains.base import Verifier
from everloop.domains.synthetic import Synthetic
from everloop.errors import EvaluationFailed, JobFailed, StorageFull
from everloop.operators.base import Briefing, Proposal
from everloop.operators.curriculum import Curriculum
from everloop.paths import JobPaths
from everloop.remote.launchers.base import JobSpec
from everloop.remote.launchers.local import LocalLauncher
from everloop.students.base import Capabilities, Manifest, Report, TrainRequest
from everloop.students.checkpoints import load_manifest
from everloop.students.synthetic import SyntheticJobTrainer, SyntheticTrainer


class Tiny(Synthetic):
    """The synthetic domain with next to no rows, so that building costs nothing and only the engine is left."""

    name = "tiny"

    def starter_rows(self, family: str) -> int:
        return 2


class Scarce(Synthetic):
    """The synthetic domain with so few items that they last for a handful of rounds."""

    name = "scarce"

    def size(self, family: str) -> int:
        return min(super().size(family), 20_000)


class Soft(Synthetic):
    """The synthetic domain with a verifier that is a judgement, so that a person approves each certification."""

    name = "soft"
    verifier = Verifier.SOFT


class Trusted(Soft):
    """The same items in the same order under a verifier that is trusted, to compare a person's part with."""

    verifier = Verifier.HARD


class Paying(Curriculum):
    """The curriculum, at one cent a turn."""

    name = "paying"

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        assert briefing.spend is not None
        briefing.spend("turn", 10_000)
        return super().propose(briefing)


class Free(SyntheticTrainer):
    """A student whose training is a copy of its parent: building costs next to nothing."""

    name = "synthetic-free"

    def train(self, request: TrainRequest, report: Report) -> Manifest:
        if request.parent is None:
            return super().train(request, report)
        shutil.copytree(request.parent, request.out)
        return load_manifest(request.out)


class PluginLauncher(LocalLauncher):
    """The local launcher, with these plug-ins on the job's path (a job's environment is otherwise minimal)."""

    name = "local-with-plugins"

    def launch(self, paths: JobPaths, spec: JobSpec) -> bool:
        return super().launch(paths, replace(spec, env={**spec.env, "PYTHONPATH": str(Path(__file__).parent)}))


class Billed(SyntheticTrainer):
    """A student whose every sample is a request."""

    name = "synthetic-billed"

    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), billed=True)


class Faulty(SyntheticJobTrainer):
    """A student whose trainings go wrong from round 1 on, in the way a file ``FAULT`` beside the run says."""

    name = "synthetic-faulty"

    def train(self, request: TrainRequest, report: Report) -> Manifest:
        fault = _fault(request.out)
        if request.parent is None or not fault:
            return super().train(request, report)
        if fault == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault == "raise":
            raise RuntimeError("no such optimiser")
        if fault == "hang":
            time.sleep(600)
        if fault == "nan":
            raise JobFailed("the loss is nan", why="at step 3")
        if fault == "full":
            raise StorageFull("no room for the checkpoint")
        if fault == "exit":
            sys.exit(0)
        manifest = super().train(request, report)
        if fault == "corrupt":
            for path in request.out.iterdir():
                if path.name != "manifest.json":
                    path.write_bytes(b"x" + path.read_bytes())
        return manifest

    def sampler(self, checkpoint: Path) -> Any:
        if _fault(checkpoint) == "mute" and "r1c1" in str(checkpoint):
            raise EvaluationFailed("the student does not answer")
        if _fault(checkpoint) == "mute-all" and "base" in str(checkpoint):
            raise EvaluationFailed("the student does not answer")
        return super().sampler(checkpoint)


def _fault(inside: Path) -> str:
    for folder in inside.resolve().parents:
        if (folder / "FAULT").exists():
            return (folder / "FAULT").read_text()
    return ""
