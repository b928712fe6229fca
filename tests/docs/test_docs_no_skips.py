"""With EVERLOOP_FAIL_ON_SKIP=1 a skip is a failure; without it, pytest is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = {
    "skip": "import pytest\ndef test_x():\n    pytest.skip('no server')\n",
    "mark": "import pytest\n@pytest.mark.skip(reason='later')\ndef test_x(): ...\n",
    "xfail": "import pytest\n@pytest.mark.xfail\ndef test_x():\n    assert False\n",
    "setup": "import pytest\n@pytest.fixture\ndef f():\n    pytest.skip('no')\ndef test_x(f): ...\n",
    "module": "import pytest\npytest.skip('whole module', allow_module_level=True)\n",
}


def run(folder: Path, code: str, on: str) -> int:
    (folder / "test_case.py").write_text(code)
    (folder / "pytest.ini").write_text("[pytest]\n")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.plugins.no_skips", "-p", "no:cacheprovider", str(folder)]
    env = os.environ | {"EVERLOOP_FAIL_ON_SKIP": on}
    done = subprocess.run(
        [*argv, "-c", str(folder / "pytest.ini")], cwd=ROOT, env=env, capture_output=True, timeout=120
    )
    return done.returncode


@pytest.mark.parametrize("case", CASES)
def test_what_did_not_run_is_a_failure(case: str, tmp_path: Path) -> None:
    assert run(tmp_path, CASES[case], "1") in {1, 2}


def test_without_the_variable_a_skip_is_a_skip(tmp_path: Path) -> None:
    assert run(tmp_path, CASES["skip"], "0") == 0


def test_a_test_that_passes_still_passes(tmp_path: Path) -> None:
    assert run(tmp_path, "def test_x(): ...\n", "1") == 0
