"""All checks of the vendor's client against one server: their groups side by side, since each mostly waits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import vendor

CHECKS = Path(__file__).with_name("vendor_checks.py")
GROUPS = ("lifecycle", "natural", "jobs", "mcp", "rules", "auth")
"""Every group of checks."""
LEAST = 187
"""Fewer checks than this mean that some were not reached."""
ROWS = [
    {"family": "add3_carry", "prompt": f"{a}+{b}=", "completion": str(a + b)}
    for a, b in ((347, 589), (458, 267), (199, 733), (806, 195))
]
TEMPLATE = {
    "request_id": "@REQUEST_ID@",
    "spec": {"base_model": "nano", "rows": ROWS, "steps": 10, "labels": "@LABELS@"},
}
"""A train job of a second or two."""


def hold(folder: Path, database_url: str) -> None:
    """That every check of every group holds on a server over this database."""
    el, template = vendor.client(), folder / "train.json"
    template.write_text(json.dumps(TEMPLATE))
    with vendor.place(folder / "home", database_url) as place:
        keys = ["--viewer-key", place.viewer, "--nostop-key", place.nostop, "--other-key", place.other]
        told = ["--el", el, "--train-request", template, "--label-rule", "owned", "--strict", "--patience", "600"]
        command = [sys.executable, CHECKS, place.server.url, place.server.key, *keys, *told]
        ended = _side_by_side(command, folder)
        logs = place.server.logs
    rows: list[dict[str, Any]] = []
    for group in GROUPS:
        rows += json.loads(_verdicts(folder, group).read_text()) if _verdicts(folder, group).exists() else []
    failed = [f"{row['verdict']} {row['check']}: {row['note']}" for row in rows if row["verdict"] != "ok"]
    assert failed == [], logs[-5000:]
    assert set(ended.values()) == {0} and len(rows) >= LEAST, ended


def _side_by_side(command: list[Any], folder: Path) -> dict[str, int]:
    """Exit status of each group, carried out at the same time."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for group in GROUPS:
            with (folder / f"{group}.txt").open("wb") as told:
                more = ["--only", group, "--out", _verdicts(folder, group)]
                running[group] = subprocess.Popen([*command, *more], stdout=told, stderr=told)
        return {group: process.wait(1100) for group, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def _verdicts(folder: Path, group: str) -> Path:
    return folder / f"verdicts-{group}.json"
