"""Example of the document of a round, from a real one."""

from __future__ import annotations

from everloop.events import Json, JsonValue

_SPEND: Json = {"model_usd": 0.0, "gpu_usd": 0.0, "total_usd": 0.0, "model_requests": 0, "student_requests": 0}
_INTERVENTIONS: list[JsonValue] = [
    {
        "target": "data",
        "what": "add up to 1000 verified samples of s2",
        "why": "s2 0.94 (15 of n=16)",
        "expected": "s2 to at least 0.95",
        "risk": "samples are the head's own: what it never gets right is not among them",
    }
]
_PROPOSAL: Json = {
    "plan": {
        "kind": "training",
        "families": ["s2", "s3", "s4"],
        "rows_per_family": 1000,
        "replay_share": 0.3,
        "settings": {"steps": 500, "batch_size": 128, "learning_rate": 0.002},
        "source": "collected",
        "seed_salt": 0,
    },
    "diff": "--- defaults\n+++ this plan\n+ families = s3, s4",
    "rationale": {
        "what": "Train on verified samples of s3 and s4.",
        "why": "Diagnosis: s3 0.56 (9 of n=16); s4 0.31 (5 of n=16).",
        "expected_gain": "s3 and s4 to 0.7",
        "risks": "s1 and s2 are not trained",
    },
    "interventions": _INTERVENTIONS,
}

EXAMPLES: dict[str, Json] = {
    "Round": {
        "round": 1,
        "decision": "certified",
        "summary": "r1c1 is certified as v1",
        "version": "v1",
        "plan": "Train on verified samples of s3 and s4.",
        "interventions": _INTERVENTIONS,
        "candidates": [
            {
                "candidate": "r1c1",
                "decision": "certified",
                "artifact": {
                    "type": "checkpoint",
                    "path": "checkpoints/r1c1",
                    "sha256": "c10cf92bd0f6fb1a43b4ef08acaa78bbcc090b107acec8caf51c6146f24434c0",
                },
                "reasons": [],
                "proposal": _PROPOSAL,
                "reviews": [
                    {
                        "kind": "rationale",
                        "version": "r1c1",
                        "passed": True,
                        "reason": "4 parts with figures and 4 interventions, all about this plan",
                        "at": "2026-11-29T21:31:45.000000Z",
                    }
                ],
                "screen": {"wins": 14, "losses": 8, "pairs": 200, "estimate": 0.03, "threshold": 0.0274},
                "certification": {
                    "against": "v0",
                    "wins": 38,
                    "losses": 11,
                    "pairs": 400,
                    "log_e": 6.6501,
                    "threshold": 5.2983,
                    "stopped": "shown",
                },
            }
        ],
        "spend": _SPEND,
        "started_at": "2026-11-29T21:31:45.000000Z",
        "ended_at": "2026-11-29T21:31:46.000000Z",
    },
}
"""Name of a document -> an example."""
