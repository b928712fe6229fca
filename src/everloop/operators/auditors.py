"""The panel that reviews candidates."""

from __future__ import annotations

from everloop.operators.base import Auditor
from everloop.operators.contamination import ContaminationAuditor
from everloop.operators.rationale import RationaleAuditor
from everloop.operators.regression import RegressionAuditor
from everloop.operators.significance import SignificanceAuditor


def default_panel() -> tuple[Auditor, ...]:
    """Every built-in auditor: those that need nothing built first."""
    return (RationaleAuditor(), SignificanceAuditor(), ContaminationAuditor(), RegressionAuditor())
