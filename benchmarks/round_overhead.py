"""Engine overhead per round and per evaluated item, with a student whose build and measure are free.

Runs one long run of the synthetic domain on SQLite and reads, from the store, how long rounds took near round 10 and
near the end; prints a table. `python benchmarks/round_overhead.py [ROUNDS]`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from everloop.service import new_run, run_start, runs
from everloop.service.installation import open_installation
from everloop.service.request import StartRequest
from everloop.service.worker import spawn
from everloop.settings import Settings

PLUGINS = str(Path(__file__).parents[1] / "tests" / "plugins")
"""Where the domain without rows is, so that building costs nothing."""
LIMITS = {"model_usd_cap": 1.0, "diag_per_family": 4, "dev_n": 40, "admission_n": 8, "collect_tasks": 4}


def main(rounds: int) -> None:
    sys.path.append(PLUGINS)
    os.environ["PYTHONPATH"] = PLUGINS
    with tempfile.TemporaryDirectory() as folder:
        place = open_installation(Settings(home=Path(folder)))
        panel = ["rationale", "contamination", "regression"]  # significance would end most rounds at their screen
        options = {"operator": "useless", "trainer": "synthetic-free", "seed": 3, "auditors": panel}
        limits = LIMITS | {"blind_n": 40, "collect_k": 1, "eval_limit": 200, "dev_use_cap": 1000}
        document = {"run": "overhead", "brief": "Measure.", "domain": "tiny", "rounds": rounds}
        run_start.start(place, StartRequest.from_json(document | {"limits": limits, "options": options}))
        worker: subprocess.Popen[bytes] = spawn(place)
        worker.wait()
        done = runs.document(place, "overhead", rounds=rounds)
        seconds = [_seconds(one["started_at"], one["ended_at"]) for one in done["rounds"]]
        starts = [datetime.fromisoformat(one["started_at"]) for one in done["rounds"]]
        whole = [(b - a).total_seconds() for a, b in pairwise(starts)]
        print(f"state {done['state']}, {len(seconds)} rounds, SQLite, {new_run.machine()}")
        print(f"{'rounds':>12} {'median ms, start to start':>26} {'p90':>8} {'inside the round':>18}")
        for low, high in ((5, 25), (rounds // 2 - 20, rounds // 2 + 20), (rounds - 40, rounds - 1)):
            part = sorted(whole[low:high])
            inside = statistics.median(seconds[low:high])
            p90 = part[int(len(part) * 0.9)]
            print(
                f"{low:>5}..{high:<5} {statistics.median(part) * 1000:>25.1f} {p90 * 1000:>8.1f} {inside * 1000:>17.1f}"
            )


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
