"""Run documents for the tests of what is shown; shaped as the service gives them."""

from __future__ import annotations

from everloop.events import Json, JsonValue


def score(mean: float | None, set_name: str = "blind", split: str = "all", n: int = 400) -> Json:
    low, high = (None, None) if mean is None else (max(0.0, mean - 0.02), min(1.0, mean + 0.02))
    return {"set": set_name, "split": split, "mean": mean, "low": low, "high": high, "n": n, "missing": 0}


def version(name: str, *scores: JsonValue) -> Json:
    return {"version": name, "parent": None, "round": None, "rows": 6600, "artifact": {}, "scores": list(scores)}


def document(*versions: JsonValue, control: Json | None = None) -> Json:
    return {
        "run": "arith-carry-1",
        "state": "finished",
        "round": 2,
        "rounds_target": 3,
        "domain": "arith",
        "best_version": "v1",
        "machine": "host, 2 cores",
        "error": None,
        "spend": {"model_usd": 0.0, "gpu_usd": None, "total_usd": 0.0},
        "limits": {"model_usd_cap": 1.0},
        "steps": [{"step": "beats_base", "done": True, "note": "+0.205 against v0"}],
        "versions": list(versions),
        "control": control,
        "claims": [
            {
                "claim": "beats_control",
                "candidate": "r1c1",
                "against": "control",
                "alpha": 0.005,
                "outcome": "not_shown",
            }
        ],
        "gates": [
            {
                "gate": "certification",
                "candidate": "v1",
                "baseline": "v0",
                "passed": True,
                "mean": 0.665,
                "baseline_mean": 0.55,
                "change": 0.115,
                "low": 0.053,
                "high": 0.177,
                "n": 200,
                "evidence": {"log_e": 5.7, "threshold": 5.3},
                "control_mean": None,
            },
            {
                "gate": "final",
                "candidate": "v1",
                "baseline": "v0",
                "passed": True,
                "mean": 0.995,
                "baseline_mean": 0.79,
                "change": 0.205,
                "low": 0.19,
                "high": 0.22,
                "n": 2000,
                "evidence": {"log_e": 210.4, "threshold": 5.3},
                "control_mean": 0.93,
                "change_from_control": -0.144,
                "control_evidence": {"log_e": -5.7, "threshold": 5.3},
                "beats_control": False,
            },
        ],
        "rounds": [
            {"round": 1, "decision": "certified", "summary": "r1c1 is certified as v1", "version": "v1", "plan": "x"}
        ],
    }
