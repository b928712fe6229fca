"""The document that pictures of a run are drawn from."""

from __future__ import annotations

from everloop.api import schemas
from everloop.api.shapes import AMOUNT, COUNT, NUMBER, SHARE, TEXT, TIME, array, nullable, one_of, record, ref, told
from everloop.events import Json
from everloop.service import history

_RUN: Json = {"type": "string", "pattern": schemas.RUN}
_ENDED = told(nullable(TIME), "Null while it is under way.")
_MONEY: dict[str, Json] = dict.fromkeys(("model_usd", "gpu_usd", "total_usd"), nullable(AMOUNT))
_ROUND: dict[str, Json] = {
    "round": COUNT,
    "decision": nullable(one_of("kept", "certified", "reverted", "rejected", "error", "paused")),
    "version": told(nullable(TEXT), "Version it certified; null when none."),
    "started_at": TIME,
    "ended_at": _ENDED,
    **_MONEY,
}
_SPEND: dict[str, Json] = {"round": told(nullable(COUNT), "Null: by now."), "at": nullable(TIME), **_MONEY}
_PHASE: dict[str, Json] = {
    "round": told(COUNT, "0 for what belongs to no round."),
    "candidate": nullable(TEXT),
    "phase": TEXT,
    "started_at": nullable(TIME),
    "ended_at": _ENDED,
    "seconds": nullable(AMOUNT),
}
_LOOK: dict[str, Json] = {
    "pairs": COUNT,
    "wins": COUNT,
    "losses": COUNT,
    "log_e": told(nullable(NUMBER), 'Natural log of the e-value against "no better".'),
    "futility": told(nullable(NUMBER), "Natural log of the e-value against the least gain worth finding."),
    "at": TIME,
}
_COMPARISON: dict[str, Json] = {
    "stage": one_of("certification"),
    "round": COUNT,
    "candidate": TEXT,
    "against": told(TEXT, "The certified version."),
    "alpha": told(nullable(SHARE), "Error level of this test."),
    "threshold": told(nullable(NUMBER), "What `log_e` has to reach: -log(alpha)."),
    "futility_threshold": told(nullable(NUMBER), "Where `futility` ends it: -log(beta)."),
    "max_pairs": nullable(COUNT),
    "stopped": told(nullable(one_of("shown", "futility", "budget")), "Null while it goes on."),
    "looks": told(array(ref("Look")), "In the order of their pairs; empty before the first."),
}


SCHEMAS: dict[str, Json] = {
    "History": record(
        {
            "run": _RUN,
            "rounds": told(array(ref("RoundSpend"), history.ROUNDS), "The newest, oldest first."),
            "rounds_total": COUNT,
            "spend": told(array(record(_SPEND), history.ROUNDS + 1), "All spent after each round; the last row: now."),
            "phases": told(array(ref("TimedPhase")), f"Those of the newest {history.TIMED} rounds, oldest first."),
            "comparison": told(nullable(ref("Comparison")), "The one under way, else the newest; null before any."),
        },
        description="What pictures of a run are drawn from.",
    ),
    "RoundSpend": record(_ROUND, description="A round, and what it spent; money is null while it is under way."),
    "TimedPhase": record(_PHASE),
    "Comparison": record(_COMPARISON, description="The working head against the certified version, look by look."),
    "Look": record(_LOOK),
}
"""Name -> schema."""
