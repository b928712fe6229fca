"""With EVERLOOP_FAIL_ON_SKIP=1, a test that skips or is expected to fail is a failure: nothing goes untested unseen.

Loaded with ``pytest -p tests.plugins.no_skips``; without the variable it does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

ACTIVE = os.environ.get("EVERLOOP_FAIL_ON_SKIP") == "1"


def _failed(report: pytest.CollectReport | pytest.TestReport) -> None:
    why = getattr(report, "wasxfail", None)
    if report.skipped and isinstance(report.longrepr, tuple):
        why = report.longrepr[2]
    if report.skipped or why is not None:
        if hasattr(report, "wasxfail"):
            del report.wasxfail
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} did not run as a test ({why}); EVERLOOP_FAIL_ON_SKIP=1 makes that a failure"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if ACTIVE:
        _failed(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips itself while it is collected."""
    report = yield
    if ACTIVE:
        _failed(report)
    return report
