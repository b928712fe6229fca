"""A thousand rounds with an operator and an auditor that are models: context sent in each turn, time and cost a round.

The models are a scripted server in this process; the student is inline and free, so only engine, operator and gateway
are left. Prints a table. `python benchmarks/agent_rounds.py [ROUNDS]`.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "loop"), str(TESTS / "plugins")]

from agents import Strong, candidate, submit, verdict  # noqa: E402 - the path is set above
from scripted import Reply, Request, ScriptedServer  # noqa: E402

from everloop.gateway.base import ModelEntry, Use  # noqa: E402
from everloop.operators.agent_context import CONTEXT_BYTES  # noqa: E402
from everloop.service import models, new_run, run_start, runs  # noqa: E402
from everloop.service.installation import open_installation  # noqa: E402
from everloop.service.request import StartRequest  # noqa: E402
from everloop.service.worker import spawn  # noqa: E402
from everloop.settings import Settings  # noqa: E402

LIMITS = {"model_usd_cap": 1000.0, "diag_per_family": 4, "dev_n": 40, "admission_n": 8, "collect_tasks": 4}


class Ideas:
    """Reads the history, then hands in a plan that no earlier one was like; remembers what it was sent."""

    def __init__(self) -> None:
        self.sizes: list[list[int]] = []

    def __call__(self, request: Request) -> Reply:
        if len(request.body["messages"]) <= 2:
            self.sizes.append([])
            self.sizes[-1].append(len(request.text.encode()))
            return Reply(tools=[("read_history", {"before_round": 10**6, "limit": 20})], output_tokens=20)
        self.sizes[-1].append(len(request.text.encode()))
        return submit(self._plan(len(self.sizes)))

    def _plan(self, number: int) -> dict[str, Any]:
        made = candidate()
        del made["prompt"]
        change = made["interventions"][0] | {"target": "data"}
        steps = 1 + (number * 7919) % 90_000
        fields = {"rows_per_family": 4, "replay_share": (number % 10) / 10, "steps": steps, "batch_size": 32}
        return made | {"interventions": [change], "learning_rate": 0.001, "source": "collected"} | fields


def main(rounds: int) -> None:
    os.environ["PYTHONPATH"] = str(TESTS / "plugins")
    ideas = Ideas()
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(Strong([ideas], [verdict()])) as server:
        place = open_installation(Settings(home=Path(folder)))
        price = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 5.0}
        entry = ModelEntry(
            name="strong",
            provider="openai",
            model="scripted",
            base_url=server.url,
            uses=(Use.OPERATOR, Use.AUDITOR),
            **price,
        )
        models.add(place, entry, None)
        panel = ["rationale", "contamination", "regression", "figures", "reviewer"]
        options = {"operator": "agent", "trainer": "synthetic-free", "seed": 3, "auditors": panel}
        limits = LIMITS | {"blind_n": 40, "collect_k": 1, "eval_limit": 200, "dev_use_cap": 2000}
        document = {"run": "long", "brief": "Measure.", "domain": "tiny", "rounds": rounds}
        run_start.start(place, StartRequest.from_json(document | {"limits": limits, "options": options}))
        spawn(place).wait()
        done = runs.document(place, "long", rounds=rounds)
    print(f"state {done['state']}, {len(done['rounds'])} rounds, {new_run.machine()}; bound {CONTEXT_BYTES} bytes")
    print(f"{'rounds':>12} {'bytes a request':>16} {'most':>8} {'requests':>9} {'USD':>9} {'ms a round':>11}")
    for low in (5, rounds // 2 - 10, rounds - 25):
        _row(done["rounds"][low : low + 20], ideas.sizes[low : low + 20], low)
    print(f"most bytes of any request: {max(max(turn) for turn in ideas.sizes)}")


def _row(rounds: list[Any], sizes: list[list[int]], low: int) -> None:
    every = [size for turn in sizes for size in turn]
    seconds = [_seconds(one["started_at"], one["ended_at"]) for one in rounds]
    requests = statistics.fmean(one["spend"]["model_requests"] for one in rounds)
    usd = statistics.fmean(one["spend"]["model_usd"] for one in rounds)
    print(
        f"{low:>5}..{low + 19:<5} {statistics.median(every):>16.0f} {max(every):>8} {requests:>9.1f} {usd:>9.6f}"
        f" {statistics.median(seconds) * 1000:>11.1f}"
    )


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
