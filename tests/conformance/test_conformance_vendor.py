"""The wire contract: every check of the vendor's own, unmodified client, on both databases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import vendor

CHECKS = Path(__file__).with_name("vendor_checks.py")
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


@pytest.mark.timeout(1200)
def test_every_check_holds(database_url: str, tmp_path: Path) -> None:
    el = vendor.client()
    template, verdicts = tmp_path / "train.json", tmp_path / "verdicts.json"
    template.write_text(json.dumps(TEMPLATE))
    with vendor.place(tmp_path / "home", database_url) as place:
        keys = ["--viewer-key", place.viewer, "--nostop-key", place.nostop, "--other-key", place.other]
        told = [
            "--el",
            el,
            "--train-request",
            template,
            "--out",
            verdicts,
            "--label-rule",
            "owned",
            "--strict",
            "--patience",
            "300",
        ]
        command = [sys.executable, CHECKS, place.server.url, place.server.key, *keys, *told]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1100)
        logs = place.server.logs
    rows = json.loads(verdicts.read_text())
    failed = [f"{row['verdict']} {row['check']}: {row['note']}" for row in rows if row["verdict"] != "ok"]
    assert failed == [], logs[-5000:]
    assert done.returncode == 0 and len(rows) >= LEAST, done.stdout[-500:]
