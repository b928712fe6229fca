"""Runs and train jobs that a real worker carries out, for documents as they are at the end."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calling import Api
from scripted import Reply, Request, ScriptedServer

from everloop.domains.synthetic import answer_to
from everloop.gateway.base import ModelEntry, Use
from everloop.service import models
from everloop.service.installation import Installation

RUNS = "/v1/agent-runs/rsi/runs"
SIZES = {"diag_per_family": 4, "dev_n": 60, "admission_n": 16, "blind_n": 80, "eval_limit": 240, "calib_n": 16}
ROWS = [{"family": "s1", "prompt": f"s1:{number}", "completion": answer_to(f"s1:{number}")} for number in range(20)]


@dataclass(frozen=True)
class Carried:
    """A server with a finished live run ``live-1``, a finished dry run ``dry-1``, a run that waits, ended jobs."""

    api: Api
    key: str
    job_id: str
    spare: str
    """Another ended job, whose checkpoint a test may delete."""

    @property
    def checkpoint(self) -> dict[str, Any]:
        """What the job left."""
        found = self.api.get("/v1/job/checkpoints", key=self.key, params={"job_id": self.job_id}).json["items"]
        assert len(found) == 1
        return dict(found[0])


_TASK = re.compile(r"s\d:\d+")


def start(run: str, **changes: Any) -> dict[str, Any]:
    """Body of a small run of the synthetic student."""
    limits = {"model_usd_cap": 1.0, "collect_tasks": 60} | SIZES | changes.pop("limits", {})
    return {"run": run, "brief": "Improve.", "domain": "synthetic", "rounds": 2, "limits": limits} | changes


def dry(run: str) -> dict[str, Any]:
    """Body of a small dry run."""
    limits = {"model_usd_cap": 1.0} | SIZES
    return {"run": run, "brief": "Ask well.", "domain": "synthetic", "rounds": 1, "limits": limits, "dry_run": True}


def job(**changes: Any) -> dict[str, Any]:
    """Body of a train job that takes a moment."""
    spec = {"base_model": "synthetic-job", "rows": ROWS, "steps": 5} | changes.pop("spec", {})
    return {"type": "train", "spec": spec} | changes


def student(request: Request) -> Reply:
    """Right on two items in five, always on the same ones."""
    task = _TASK.findall(request.last)[-1]
    luck = int.from_bytes(hashlib.sha256(task.encode()).digest()[:4], "big") / 2**32
    text = f"It is {answer_to(task)}." if luck < 0.4 else "It is 7."
    return Reply(text, input_tokens=20, output_tokens=5)


def configure(place: Installation, server: ScriptedServer) -> None:
    """Have dry runs of the installation measure the scripted student."""
    entry = ModelEntry(
        name="scripted",
        provider="openai",
        model="scripted",
        base_url=server.url,
        uses=(Use.STUDENT,),
        input_usd_per_mtok=1.0,
        output_usd_per_mtok=10.0,
        concurrency=8,
        max_tokens=64,
    )
    models.add(place, entry, None)


def drain(place: Installation, seconds: float = 150) -> None:
    """Let one worker carry out everything that waits."""
    settings = place.settings
    values = {f"EVERLOOP_{name.upper()}": str(getattr(settings, name)) for name in type(settings).model_fields}
    command = [sys.executable, "-m", "everloop.loop.worker", "--drain"]
    done = subprocess.run(command, env=os.environ | values, capture_output=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr.decode()[-4000:]


@contextmanager
def carried_out(home: Path) -> Iterator[Carried]:
    """Have a worker carry out two runs and a job, and serve what is left of them."""
    with Api(home) as api, ScriptedServer(student) as server:
        configure(api.place, server)
        key = api.key()
        answers = [
            api.post(RUNS, key=key, json=start("live-1", options={"trainer": "synthetic-job"})),
            api.post(RUNS, key=key, json=dry("dry-1")),
            api.post("/v1/job", key=key, json=job(labels={"rsi_run": "live-1"})),
            api.post("/v1/job", key=key, json=job(spec={"seed": 7})),
        ]
        assert [one.status for one in answers] == [201] * 4
        assert api.post(f"{RUNS}/live-1/steer", key=key, json={"text": "Begin with s3."}).status == 202
        assert api.post(f"{RUNS}/live-1/directives", key=key, json={"text": "Short answers."}).status == 201
        drain(api.place)
        more = start("waits-1", limits={"usd_cap": 1}, goal={"split": "all", "target": 0.9}, stop={"patience": 5})
        assert api.post(RUNS, key=key, json=more).status == 201
        yield Carried(api, key, answers[2].json["job_id"], answers[3].json["job_id"])
