"""JSON Schemas of the documents that routes answer with, and an example of each."""

from __future__ import annotations

from everloop.api import (
    documents_approvals,
    documents_evidence,
    documents_history,
    documents_identity,
    documents_jobs,
    documents_operation,
    documents_runs,
    documents_unreadable,
    examples_approvals,
    examples_history,
    examples_identity,
    examples_jobs,
    examples_rounds,
    examples_runs,
)
from everloop.events import Json

_SCHEMAS = (
    documents_operation,
    documents_runs,
    documents_history,
    documents_unreadable,
    documents_evidence,
    documents_jobs,
    documents_identity,
    documents_approvals,
)
_EXAMPLES = (
    documents_operation,
    examples_runs,
    examples_rounds,
    examples_history,
    examples_jobs,
    examples_identity,
    examples_approvals,
)

SCHEMAS: dict[str, Json] = {name: schema for noun in _SCHEMAS for name, schema in noun.SCHEMAS.items()}
"""Name -> schema; the OpenAPI document's components."""
EXAMPLES: dict[str, Json] = {name: example for noun in _EXAMPLES for name, example in noun.EXAMPLES.items()}
"""Name -> an example."""
