"""An example of the document that pictures are drawn from, from a real run."""

from __future__ import annotations

from everloop.events import Json

_DAY = "2026-11-29T21:31"
_NOTHING: Json = {"model_usd": 0.0, "gpu_usd": 0.0, "total_usd": 0.0}

EXAMPLES: dict[str, Json] = {
    "History": {
        "run": "arith-carry-1",
        "rounds": [
            {
                "round": 1,
                "decision": "certified",
                "version": "v1",
                "started_at": f"{_DAY}:44.000000Z",
                "ended_at": f"{_DAY}:45.000000Z",
                **_NOTHING,
            }
        ],
        "rounds_total": 1,
        "spend": [
            {"round": 1, "at": f"{_DAY}:45.000000Z", **_NOTHING},
            {"round": None, "at": f"{_DAY}:46.000000Z", **_NOTHING},
        ],
        "phases": [
            {
                "round": 1,
                "candidate": "r1c1",
                "phase": "certify",
                "started_at": f"{_DAY}:44.575187Z",
                "ended_at": f"{_DAY}:44.878188Z",
                "seconds": 0.303001,
            }
        ],
        "comparison": {
            "stage": "certification",
            "round": 1,
            "candidate": "r1c1",
            "against": "v0",
            "alpha": 0.005,
            "threshold": 5.298317366548036,
            "futility_threshold": 0.6931471805599453,
            "max_pairs": 2000,
            "stopped": "shown",
            "looks": [
                {
                    "pairs": 200,
                    "wins": 21,
                    "losses": 9,
                    "log_e": 1.5624712515827035,
                    "futility": -1.2968618987429386,
                    "at": f"{_DAY}:44.700000Z",
                },
                {
                    "pairs": 400,
                    "wins": 40,
                    "losses": 12,
                    "log_e": 6.713485705955826,
                    "futility": -2.042920824922021,
                    "at": f"{_DAY}:44.870000Z",
                },
            ],
        },
    }
}
"""Name of a document -> an example."""
