"""Documents of runs: the list, the run with everything, a round, the live view, what steering and control answer."""

from __future__ import annotations

from typing import cast

from everloop.api import schemas
from everloop.api.shapes import (
    AMOUNT,
    ANYTHING,
    COUNT,
    FLAG,
    NUMBER,
    SHARE,
    TEXT,
    TIME,
    array,
    listing,
    nullable,
    one_of,
    record,
    ref,
    told,
)
from everloop.events import EventKind, Json
from everloop.service.document import EVENTS, REVIEWS
from everloop.store.jobs import ACTIVE, ENDED

_STATE = one_of("starting", "running", "paused", "finished", "failed", "stopped")
_RUN: Json = {"type": "string", "pattern": schemas.RUN}
_ROUND = told(COUNT, "Newest round begun; 0 before the first.")
_BEST = told(nullable(TEXT), "Certified version; null before v0 exists.")
_HEAD = told(nullable(TEXT), "Where the next round starts; null before v0 exists.")
_PHASE = told(nullable(TEXT), "Newest phase; null before the first.")
_STOP = told(FLAG, "Whether it stops after the present round.")
_REASON = record({"code": TEXT, "message": TEXT})


def _limits() -> Json:
    """Every limit in force, as the body of a start tells them; null where there is no cap."""
    asked = cast(Json, cast(Json, schemas.START["properties"])["limits"])
    known = cast(dict[str, Json], asked["properties"])
    return record({name: {k: v for k, v in one.items() if k != "default"} for name, one in known.items()})


def _options() -> Json:
    names = ("operator", "trainer", "gate", "launcher")
    models = ("operator_model", "auditor_model", "student_model")
    return record(
        {"seed": COUNT} | dict.fromkeys(names, TEXT) | {"auditors": array(TEXT)} | dict.fromkeys(models, nullable(TEXT))
    )


_SUMMARY: dict[str, Json] = {
    "run": _RUN,
    "kind": one_of("model", "harness", "code", "data", "search"),
    "state": _STATE,
    "round": _ROUND,
    "rounds_target": COUNT,
    "best_version": _BEST,
    "spend": ref("Spend"),
    "owner": ref("Owner"),
    "updated_at": TIME,
}
_GOAL: dict[str, Json] = {"split": TEXT, "target": SHARE}
_STOPS: dict[str, Json] = {"wall_seconds": nullable(AMOUNT), "patience": nullable(COUNT)}
_FROZEN: dict[str, Json] = {
    "group": one_of("model", "infra", "harness", "data", "search"),
    "level": one_of("work", "harness", "capability"),
    "domain": TEXT,
    "mode": one_of("live", "dry"),
    "stop_requested": _STOP,
    "phase": _PHASE,
    "brief": TEXT,
    "working_head": _HEAD,
    "created_at": TIME,
    "machine": told(TEXT, "Host, cores, device and release at the start."),
    "error": told(nullable(_REASON), "Why it is paused or failed; null otherwise."),
    "limits": ref("Limits"),
    "goal": nullable(record(_GOAL)),
    "stop": record(_STOPS),
    "options": _options(),
}
_BODY: dict[str, Json] = {
    "protocol": ref("Protocol"),
    "steps": array(ref("Step")),
    "versions": array(ref("Version")),
    "control": told(nullable(ref("ControlArm")), "The base trained on its own rows again; null without one."),
    "claims": array(ref("Claim")),
    "gates": array(ref("Gate")),
    "approvals": array(ref("Approval")),
    "reviews": told(array(ref("Review"), REVIEWS), "The newest."),
    "rounds": told(array(ref("Round"), 50), "The newest, oldest first."),
    "rounds_total": COUNT,
    "directives": array(ref("Directive")),
}
_FIGURES: dict[str, Json] = {"wins": COUNT, "losses": COUNT, "pairs": COUNT}
_CANDIDATE = record(
    {
        "candidate": TEXT,
        "decision": nullable(one_of("kept", "certified", "reverted", "rejected", "error")),
        "artifact": nullable(ref("Artifact")),
        "reasons": array(TEXT),
        "proposal": ref("Proposal"),
        "reviews": array(ref("Review")),
        "screen": nullable(ref("Screen")),
        "certification": nullable(ref("Certification")),
    }
)
_STEER: dict[str, Json] = {
    "id": COUNT,
    "status": one_of("queued", "delivered", "dropped"),
    "at": TIME,
    "author": TEXT,
}
_AT_WORK: dict[str, Json] = {"role": TEXT, "tool": nullable(TEXT), "started_at": TIME}
_RUN_JOB = record(
    {
        "job_id": TEXT,
        "job": TEXT,
        "round": COUNT,
        "purpose": TEXT,
        "state": one_of(*ACTIVE, *ENDED),
        "seconds": nullable(AMOUNT),
        "labels": ANYTHING,
        "created_at": TIME,
    }
)
_LIVE: dict[str, Json] = {
    "run": _RUN,
    "state": _STATE,
    "stop_requested": _STOP,
    "round": _ROUND,
    "rounds_target": COUNT,
    "phase": _PHASE,
    "current": told(nullable(record(_AT_WORK)), "Who is at work; null when nobody is."),
    "events": array(ref("Event"), EVENTS),
    "next_cursor": told(COUNT, "What to send as `since` next."),
    "steers": array(record({**_STEER, "text": TEXT})),
    "jobs": told(array(_RUN_JOB, 20), "The newest train jobs."),
    "spend": ref("Spend"),
    "limits": ref("Limits"),
    "best_version": _BEST,
    "working_head": _HEAD,
    "updated_at": TIME,
}
_ROUND_DOCUMENT: dict[str, Json] = {
    "round": COUNT,
    "decision": nullable(one_of("kept", "certified", "reverted", "rejected", "error", "paused")),
    "summary": nullable(TEXT),
    "version": told(nullable(TEXT), "Version it certified; null when none."),
    "plan": nullable(TEXT),
    "interventions": array(ref("Intervention")),
    "candidates": array(_CANDIDATE),
    "spend": told(nullable(ref("Spend")), "What the round spent; null while it is under way."),
    "started_at": TIME,
    "ended_at": nullable(TIME),
}
_EVENT: dict[str, Json] = {
    "seq": {"type": "integer", "minimum": 1},
    "at": TIME,
    "kind": one_of(*EventKind),
    "text": TEXT,
    "round": nullable(COUNT),
    **dict.fromkeys(("phase", "role", "tool"), nullable(TEXT)),
    "data": told(ANYTHING, "Details for programs."),
}
_SPEND: dict[str, Json] = {
    **dict.fromkeys(("model_usd", "gpu_usd", "total_usd"), told(nullable(AMOUNT), "Null where it was not metered.")),
    **dict.fromkeys(("model_requests", "student_requests"), told(nullable(COUNT), "Null where it was not metered.")),
}

SCHEMAS: dict[str, Json] = {
    "Runs": listing("RunRow", extra={"start": told(TEXT, "How to start a run; only when there is none.")}),
    "RunRow": {"anyOf": [ref("RunSummary"), ref("UnreadableRow")]},
    "RunSummary": record(_SUMMARY, description="A row of the list; what `compact` asks for."),
    "RunDetail": record(_SUMMARY | _FROZEN | _BODY, description="Everything there is to know of a run."),
    "Run": {
        "anyOf": [ref("RunDetail"), ref("RunSummary"), ref("UnreadableRun"), ref("UnreadableRow")],
        "description": "The summary where `compact` asks for it.",
    },
    "Round": record(_ROUND_DOCUMENT),
    "Live": {"anyOf": [ref("LiveView"), ref("UnreadableLive")]},
    "LiveView": record(_LIVE),
    "Steer": record(_STEER),
    "Directive": record({"text": TEXT, "author": TEXT, "at": TIME}),
    "Control": record(
        {
            "run": _RUN,
            "action": one_of("extend", "stop", "resume"),
            "state": _STATE,
            "rounds_target": COUNT,
            "stop_requested": _STOP,
        }
    ),
    "Event": record(_EVENT),
    "Intervention": record(dict.fromkeys(("target", "what", "why", "expected", "risk"), TEXT)),
    "Limits": _limits(),
    "Owner": record(dict.fromkeys(("workspace_id", "project_id", "subject"), TEXT)),
    "Spend": record(_SPEND),
    "Proposal": record(
        {
            "plan": told(ANYTHING, "What to build; `kind` says what else is in it."),
            "diff": TEXT,
            "rationale": ref("Rationale"),
            "interventions": array(ref("Intervention")),
        }
    ),
    "Rationale": record(dict.fromkeys(("what", "why", "expected_gain", "risks"), TEXT)),
    "Screen": record({**_FIGURES, "estimate": nullable(NUMBER), "threshold": nullable(NUMBER)}),
    "Certification": record(
        {
            "against": TEXT,
            **_FIGURES,
            "log_e": nullable(NUMBER),
            "threshold": nullable(NUMBER),
            "stopped": one_of("shown", "futility", "budget"),
        }
    ),
}
"""Name -> schema."""
