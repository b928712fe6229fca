"""Documents of what a run's claims rest on: protocol, versions with their scores, gates, claims, reviews."""

from __future__ import annotations

from dataclasses import fields

from everloop.api.shapes import (
    AMOUNT,
    ANYTHING,
    COUNT,
    FLAG,
    NUMBER,
    SHA256,
    SHARE,
    TEXT,
    TIME,
    array,
    by_name,
    nullable,
    one_of,
    record,
    ref,
    told,
)
from everloop.events import Json
from everloop.evidence.tally import Tally

_SCORES = array(ref("Score"))
_EVIDENCE = record({"log_e": nullable(NUMBER), "threshold": nullable(NUMBER)})
_PROTOCOL: dict[str, Json] = {
    **dict.fromkeys(("domain", "judge_version", "verifier", "setting", "trainer"), TEXT),
    **dict.fromkeys(("seed", "diag_per_family", "admission_n", "dev_n", "dev_use_cap", "certify_pairs"), COUNT),
    **dict.fromkeys(("blind_n", "calib_n", "eval_limit", "rounds", "collect_tasks", "starter_rows"), COUNT),
    **dict.fromkeys(("floor", "rule_share", "final_alpha", "failure_bound"), SHARE),
    "candidates_per_round": COUNT,
    "floor_evidence": NUMBER,
    "families": array(TEXT),
    "auditors": array(TEXT),
    "student": told(nullable(ANYTHING), "The model that is measured in a dry run; null in a live one."),
    "sha256": SHA256,
    "gate": {
        "type": "object",
        "description": "The decision policy with every parameter.",
        "required": ["policy", "alpha", "min_effect"],
        "properties": {"policy": TEXT, "alpha": nullable(NUMBER), "min_effect": nullable(NUMBER)},
    },
    "judge": record({"id": TEXT, "version": TEXT}),
    "sets": array(
        record({"set": one_of("dev", "certify", "blind"), "n": COUNT, "uses": nullable(COUNT), "use_cap": COUNT})
    ),
    "rounds_supply": told(nullable(COUNT), "Rounds that fresh items last for; null where that is not known."),
    "false_claim_bound": told(nullable(NUMBER), "Bound on the chance of any false claim so far; null without one."),
    "minimum_detectable_effect": nullable(NUMBER),
    "worst_case_usd": nullable(AMOUNT),
}
_GATE: dict[str, Json] = {
    "gate": one_of("certification", "final"),
    "candidate": TEXT,
    "baseline": TEXT,
    "passed": nullable(FLAG),
    **dict.fromkeys(("mean", "baseline_mean", "change", "low", "high"), nullable(NUMBER)),
    "n": COUNT,
    "missing": COUNT,
    "evidence": _EVIDENCE,
    "control_mean": nullable(NUMBER),
    **dict.fromkeys(("change_from_control", "control_low", "control_high"), nullable(NUMBER)),
    "control_n": told(nullable(COUNT), "Pairs of best version and control arm."),
}
_FAMILIES = by_name(record({field.name: COUNT for field in fields(Tally)}))
_OF_CERTIFICATION: dict[str, Json] = {
    "approval": told(one_of("approved", "rejected"), "What a person said, where one decides."),
    "families": _FAMILIES,
}
_OF_FINAL: dict[str, Json] = {
    "round": COUNT,
    "violations": array(TEXT),
    "control_evidence": _EVIDENCE,
    "beats_control": nullable(FLAG),
    "alpha": SHARE,
}
_VERSION: dict[str, Json] = {
    "version": TEXT,
    "parent": nullable(TEXT),
    "round": nullable(COUNT),
    "candidate": nullable(TEXT),
    "rows": told(nullable(COUNT), "Rows it was trained on; null where nothing is trained."),
    "artifact": ref("Artifact"),
    "scores": _SCORES,
}
_ARM: dict[str, Json] = {
    "rows": COUNT,
    "steps": COUNT,
    "steps_missed": COUNT,
    "artifact": ref("Artifact"),
    "scores": _SCORES,
}
_SCORE: dict[str, Json] = {
    "set": TEXT,
    "split": told(TEXT, "`all`, or a family."),
    **dict.fromkeys(("mean", "low", "high"), nullable(NUMBER)),
    "n": COUNT,
    "missing": COUNT,
}

SCHEMAS: dict[str, Json] = {
    "Artifact": record({"type": one_of("checkpoint", "config", "commit"), "path": TEXT, "sha256": TEXT}),
    "Claim": record(
        {
            "claim": one_of("certified", "beats_base", "beats_control"),
            "candidate": TEXT,
            "against": TEXT,
            "alpha": nullable(SHARE),
            "outcome": one_of("shown", "not_shown"),
            "at": TIME,
        }
    ),
    "ControlArm": record(_ARM),
    "Gate": record(_GATE | {"at": TIME} | _OF_CERTIFICATION | _OF_FINAL, optional=(*_OF_CERTIFICATION, *_OF_FINAL)),
    "GateFigures": record(_GATE | {"families": _FAMILIES}, description="A certification before it is decided."),
    "Protocol": record(_PROTOCOL),
    "Review": record({"kind": TEXT, "version": TEXT, "passed": FLAG, "reason": TEXT, "at": TIME}),
    "Score": record(_SCORE),
    "Step": record({"step": one_of("data", "checkpoint", "benchmark", "beats_base"), "done": FLAG, "note": TEXT}),
    "Version": record(_VERSION),
}
"""Name -> schema."""
