"""Wall and processor time of ``el --help`` in a fresh process, and what it imports. Bar: median under 150 ms."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

RUNS = 21
BAR_MS = 150.0
HEAVY = ("torch", "rich", "sqlalchemy", "pydantic", "dbos", "scipy", "numpy")


def measure() -> tuple[list[float], float]:
    """Wall milliseconds of each run, and mean processor milliseconds."""
    walls = []
    before = os.times()
    for _ in range(RUNS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "everloop.cli.main", "--help"], check=True, stdout=subprocess.DEVNULL)
        walls.append((time.perf_counter() - began) * 1000)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return walls, spent * 1000 / RUNS


def imported() -> str:
    """Heavy packages that help imports; "none" when it is as it should be."""
    code = (
        "import sys, everloop.cli.main as m\nm.el.get_help(m.click.Context(m.el))\n"
        f"print([n for n in {HEAVY!r} if n in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    return "none" if found == "[]" else found


def main() -> int:
    walls, spent = measure()
    median = statistics.median(walls)
    print(f"| el --help, {RUNS} runs | ms |\n| --- | ---: |")
    print(f"| wall, median | {median:.0f} |\n| wall, least | {min(walls):.0f} |\n| wall, most | {max(walls):.0f} |")
    print(f"| processor, mean | {spent:.0f} |\n| bar (median) | {BAR_MS:.0f} |")
    print(f"\nheavy packages imported: {imported()}")
    return 0 if median < BAR_MS else 1


if __name__ == "__main__":
    sys.exit(main())
