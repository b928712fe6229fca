"""Examples of the documents of approvals and samples, from real ones."""

from __future__ import annotations

from everloop.events import Json

_RATIONALE: Json = {
    "what": "Train on verified samples of s3 and s4.",
    "why": "Diagnosis: s3 0.56 (9 of n=16); s4 0.31 (5 of n=16).",
    "expected_gain": "s3 and s4 to 0.7",
    "risks": "s1 and s2 are not trained",
}
_FIGURES: Json = {
    "gate": "certification",
    "candidate": "r1c1",
    "baseline": "v0",
    "passed": None,
    "mean": 0.71,
    "baseline_mean": 0.6425,
    "change": 0.0675,
    "low": 0.0332,
    "high": 0.1018,
    "n": 400,
    "missing": 0,
    "evidence": {"log_e": 6.6501, "threshold": 5.2983},
    "control_mean": None,
    "change_from_control": None,
    "control_low": None,
    "control_high": None,
    "control_n": None,
    "families": {
        "s1": {
            "wins": 0,
            "losses": 1,
            "both_right": 97,
            "both_wrong": 2,
            "candidate_missing": 0,
            "baseline_missing": 0,
        },
        "s2": {
            "wins": 2,
            "losses": 3,
            "both_right": 94,
            "both_wrong": 1,
            "candidate_missing": 0,
            "baseline_missing": 0,
        },
        "s3": {
            "wins": 16,
            "losses": 3,
            "both_right": 28,
            "both_wrong": 53,
            "candidate_missing": 0,
            "baseline_missing": 0,
        },
        "s4": {
            "wins": 20,
            "losses": 4,
            "both_right": 27,
            "both_wrong": 49,
            "candidate_missing": 0,
            "baseline_missing": 0,
        },
    },
}
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
    "rationale": _RATIONALE,
    "interventions": [
        {
            "target": "data",
            "what": "add up to 1000 verified samples of s2",
            "why": "s2 0.94 (15 of n=16)",
            "expected": "s2 to at least 0.95",
            "risk": "samples are the head's own: what it never gets right is not among them",
        }
    ],
}

EXAMPLES: dict[str, Json] = {
    "Approvals": {
        "items": [
            {
                "approval_id": "apr-0123456789abcdef0123",
                "run": "arith-carry-1",
                "kind": "certification",
                "candidate": "r1c1",
                "state": "pending",
                "reason": None,
                "created_at": "2026-11-29T21:31:46.000000Z",
                "decided_at": None,
                "decided_by": None,
                "round": 1,
                "baseline": "v0",
                "judge": {"id": "rubric", "version": "1"},
                "sha256": "c10cf92bd0f6fb1a43b4ef08acaa78bbcc090b107acec8caf51c6146f24434c0",
                "rationale": _RATIONALE,
                "evidence": _FIGURES,
            }
        ],
        "next_cursor": None,
        "observed_at": "2026-11-29T21:31:46.000000Z",
    },
    "Approval": {
        "approval_id": "apr-0123456789abcdef0123",
        "run": "arith-carry-1",
        "kind": "certification",
        "candidate": "r1c1",
        "state": "rejected",
        "reason": "The gain is in one family.",
        "created_at": "2026-11-29T21:31:46.000000Z",
        "decided_at": "2026-11-29T21:31:46.000000Z",
        "decided_by": "user:owner",
        "round": 1,
        "baseline": "v0",
        "judge": {"id": "rubric", "version": "1"},
        "sha256": "c10cf92bd0f6fb1a43b4ef08acaa78bbcc090b107acec8caf51c6146f24434c0",
        "rationale": _RATIONALE,
        "evidence": _FIGURES,
    },
    "Sample": {
        "week": "2026-W47",
        "complete": True,
        "project_id": "local",
        "rejected": 1,
        "judged": 0,
        "items": [
            {
                "run": "arith-carry-1",
                "candidate": "r2c1",
                "round": 2,
                "decision": "rejected",
                "reasons": ["clearly worse than the head: 0 won, 12 lost of 40 pairs"],
                "proposal": _PROPOSAL,
                "screen": {"wins": 14, "losses": 8, "pairs": 200, "estimate": 0.03, "threshold": 0.0274},
                "certification": None,
                "at": "2026-11-29T21:31:46.000000Z",
                "label": None,
            }
        ],
        "observed_at": "2026-11-29T21:31:46.000000Z",
    },
    "HumanVerdict": {
        "id": 1,
        "run": "arith-carry-1",
        "candidate": "r2c1",
        "good": False,
        "reason": "It repeats the rule it breaks.",
        "author": "user:owner",
    },
}
"""Name of a document -> an example."""
