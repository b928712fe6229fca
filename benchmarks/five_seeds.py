"""The demo with five seeds, each in a fresh home: v0, best version, control arm, claims, seconds. Prints a table.

`python benchmarks/five_seeds.py [SEED ...]`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any


def main(seeds: list[int]) -> None:
    print("| seed | v0 | best | control | beats base | beats control | first certified, s | whole run, s |")
    print("|---|---|---|---|---|---|---|---|")
    for seed in seeds:
        with tempfile.TemporaryDirectory() as home:
            begun = time.time()
            done = _demo(Path(home), seed)
            print(_row(seed, done, time.time() - begun), flush=True)


def _demo(home: Path, seed: int) -> dict[str, Any]:
    command = [str(Path(sys.executable).parent / "el"), "demo", "--json", "--seed", str(seed)]
    env = dict(os.environ) | {"EVERLOOP_HOME": str(home)}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _row(seed: int, done: dict[str, Any], seconds: float) -> str:
    final = done["gates"][-1]
    scores = {one["version"]: _blind(one["scores"]) for one in done["versions"]}
    control = _blind(done["control"]["scores"])
    claims = {one["claim"]: one["outcome"] for one in done["claims"]}
    shown = [claims.get(name, "—").replace("_", " ") for name in ("beats_base", "beats_control")]
    begun = datetime.fromisoformat(done["created_at"])
    certified = [one["at"] for one in done["claims"] if one["claim"] == "certified" and one["outcome"] == "shown"]
    first = f"{(datetime.fromisoformat(certified[0]) - begun).total_seconds():.0f}" if certified else "—"
    best = f"{final['candidate']} {scores[final['candidate']]}"
    return f"| {seed} | {scores['v0']} | {best} | {control} | {shown[0]} | {shown[1]} | {first} | {seconds:.0f} |"


def _blind(scores: list[dict[str, Any]]) -> str:
    for one in scores:
        if one["set"] == "blind" and one["split"] == "all":
            return f"{one['mean']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
    return "—"


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]] or [0, 1, 2, 3, 4])
