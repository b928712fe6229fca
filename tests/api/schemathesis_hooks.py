"""Loaded by the tool's own process: real cursors for what is to be accepted, reasons for what may be refused."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import schemathesis

CURSORS: dict[str, str] = json.loads(os.environ.get("EVERLOOP_TEST_CURSORS", "{}"))
"""Operation -> a cursor that its list has given out; no schema tells a real one from another text."""

_PRINTABLE = "printable characters"  # a class of characters that not every reader's patterns can name
REASONS: dict[str, tuple[str, ...]] = {
    "start_run": (
        r"^goal\.split .* is not known",  # the splits are the families of the domain
        "^operator .* is for ",  # live and dry runs have their own operators
        "^options.trainer goes with live runs",
        "^options.auditors lacks ",
        "^student_model goes with dry_run only",
        "^there is no model ",  # models are configured
        "^.* needs a model, and no .* model is configured",
        r"^options\.\w+ names .*, which nobody would ask",  # who asks a model depends on operator and auditors
        "^the protocol could exhaust ",  # the domain has only so many items for the limits together
    ),
    "submit_job": (
        "^spec.parent .* is not known",  # checkpoints come and go
        "^label .* is given twice",
        _PRINTABLE,
    ),
    "get_job_logs": ("^tail and cursor exclude each other",),
    "create_key": (_PRINTABLE,),
    "list_member_candidates": (_PRINTABLE,),
}
"""Operation -> what it may say when it refuses a body that fits the schema: rules between fields, or with the store."""


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Have a request that is to be accepted go on from where a real page ended, or begin at the start."""
    if _positive(case) and "cursor" in (case.query or {}):
        real = CURSORS.get(_operation(case))
        if real is None:
            del case.query["cursor"]
        else:
            case.query["cursor"] = real


@schemathesis.check
def refused_for_a_reason(ctx: Any, response: Any, case: Any) -> None:
    """What fits the document is refused as invalid only for what the document cannot say."""
    if response.status_code == 422 and _positive(case):
        message = str(response.json()["message"])
        known = REASONS.get(_operation(case), ())
        assert any(re.search(one, message) for one in known), f"{_operation(case)}: {message}"


def _positive(case: Any) -> bool:
    return case.meta is not None and not case.meta.generation.mode.is_negative


def _operation(case: Any) -> str:
    return str(case.operation.definition.raw["operationId"])
