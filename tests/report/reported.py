"""A run document for the tests of reports: the API's own example, which came from a real run, with changes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from everloop.api.examples_runs import EXAMPLES


def document(**changes: Any) -> dict[str, Any]:
    """The document of a finished run whose final gate shows both claims; `changes` replace fields."""
    return deepcopy(EXAMPLES["Run"]) | changes


def final(**changes: Any) -> dict[str, Any]:
    """Its final gate, with changes."""
    return document()["gates"][-1] | changes


def candidate(**changes: Any) -> dict[str, Any]:
    """The candidate of its round, with changes."""
    return document()["rounds"][0]["candidates"][0] | changes


def history(**changes: Any) -> dict[str, Any]:
    """What its pictures are drawn from besides."""
    money = {"model_usd": 0.25, "gpu_usd": 0.5, "total_usd": 0.75}
    times = {"started_at": "2026-11-29T21:31:45.000000Z", "ended_at": "2026-11-29T21:31:46.000000Z"}
    phase = {"round": 1, "candidate": "r1c1", "phase": "screen", **times, "seconds": 1.0}
    look = {"pairs": 200, "wins": 20, "losses": 6, "log_e": 3.1, "futility": -1.0, "at": times["started_at"]}
    return {
        "run": "arith-carry-1",
        "rounds": [{"round": 1, "decision": "certified", "version": "v1", **times, **money}],
        "rounds_total": 1,
        "spend": [{"round": 1, "at": times["ended_at"], **money}, {"round": None, "at": times["ended_at"], **money}],
        "phases": [phase],
        "comparison": {
            "stage": "certification",
            "round": 1,
            "candidate": "r1c1",
            "against": "v0",
            "alpha": 0.005,
            "threshold": 5.2983,
            "futility_threshold": 0.6931,
            "max_pairs": 2000,
            "stopped": "shown",
            "looks": [look, look | {"pairs": 400, "wins": 38, "losses": 11, "log_e": 6.6501}],
        },
    } | changes
