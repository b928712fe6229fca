"""Documents of approvals, and of the weekly sample of rejected candidates."""

from __future__ import annotations

from everloop.api import schemas
from everloop.api.shapes import COUNT, FLAG, TEXT, TIME, array, listing, nullable, one_of, record, ref, told
from everloop.events import Json
from everloop.service.approvals import DECISIONS
from everloop.service.request import BRIEF
from everloop.service.samples import MOST
from everloop.store.approvals import STATES
from everloop.store.samples import REJECTED

_RUN: Json = {"type": "string", "pattern": schemas.RUN}
_REASON: Json = {"type": ["string", "null"], "minLength": 1, "maxLength": BRIEF, "pattern": schemas.NOT_BLANK}
_APPROVAL: dict[str, Json] = {
    "approval_id": TEXT,
    "run": _RUN,
    "kind": one_of("certification"),
    "candidate": TEXT,
    "state": one_of(*STATES),
    "reason": told(nullable(TEXT), "What the person said."),
    "created_at": TIME,
    "decided_at": nullable(TIME),
    "decided_by": nullable(TEXT),
    "round": nullable(COUNT),
    "baseline": nullable(TEXT),
    "judge": nullable(record({"id": TEXT, "version": TEXT})),
    "sha256": told(nullable(TEXT), "Hash of what was measured; nothing else is certified."),
    "rationale": nullable(ref("Rationale")),
    "evidence": told(nullable(ref("GateFigures")), "The figures of the certification."),
}
_SAMPLED: dict[str, Json] = {
    "run": _RUN,
    "candidate": TEXT,
    "round": COUNT,
    "decision": one_of(*REJECTED),
    "reasons": array(TEXT),
    "proposal": ref("Proposal"),
    "screen": nullable(ref("Screen")),
    "certification": nullable(ref("Certification")),
    "at": TIME,
    "label": told(
        nullable(record({"good": FLAG, "reason": nullable(TEXT), "author": TEXT, "at": TIME})), "The newest verdict."
    ),
}
_SAMPLE: dict[str, Json] = {
    "week": told({"type": "string", "pattern": r"^\d{4}-W\d{2}$"}, "ISO week in which the candidates were proposed."),
    "complete": told(FLAG, "Whether the week is over."),
    "project_id": TEXT,
    "rejected": told(COUNT, "Candidates that were rejected in the week; the sample is drawn from them."),
    "judged": COUNT,
    "items": array(ref("SampledCandidate"), MOST),
    "observed_at": TIME,
}

SCHEMAS: dict[str, Json] = {
    "Approvals": listing("Approval"),
    "Approval": record(_APPROVAL),
    "Sample": record(_SAMPLE),
    "SampledCandidate": record(_SAMPLED),
    "HumanVerdict": record(
        {"id": COUNT, "run": _RUN, "candidate": TEXT, "good": FLAG, "reason": nullable(TEXT), "author": TEXT}
    ),
}
"""Name -> schema."""

DECISION: Json = record(
    {"decision": one_of(*DECISIONS), "reason": told(_REASON, "Required of a rejection; the operator reads it.")},
    optional=("reason",),
) | {
    "oneOf": [
        {"properties": {"decision": {"const": "reject"}, "reason": {"type": "string"}}, "required": ["reason"]},
        {"properties": {"decision": {"const": "approve"}}},
    ]
}
"""Body of a decision."""
VERDICT: Json = record({"good": told(FLAG, "Whether it was worth keeping."), "reason": _REASON}, optional=("reason",))
"""Body of a verdict."""
