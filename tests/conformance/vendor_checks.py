#!/usr/bin/env python3
"""Black-box acceptance test of a server, driven by the real, unmodified ``el`` client of the vendor.

    python vendor_checks.py BASE_URL API_KEY [--el PATH] [--viewer-key K] [--nostop-key K] [--other-key K]

API_KEY      may read, start and stop (training.run and training.stop) in one project.
--viewer-key reads the same project only.      --nostop-key has training.run without training.stop.
--other-key  belongs to another project.       Checks that need a missing key are skipped, and counted.

The script starts dry runs (--dry-run, --rounds) and submits train jobs, so point it at a project made for it.
Weight of a check: MUST (client source or seed document) fails the suite; SHOULD (our inference) only warns,
unless --strict. Exit status: 0 all MUST checks pass, 1 some fail, 2 the script could not be run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from vendor_auth import Auth
from vendor_jobs import Jobs
from vendor_lifecycle import Lifecycle
from vendor_mcp import Mcp
from vendor_start import Start

TEMPLATE = 'JSON template of a cheap train request; holds "@LABELS@" and @REQUEST_ID@'
LABELS = (
    "what a foreign job with this run's label opens: the run (the document read word for word) or nothing (a run with "
    "a recorded owner stays its owner's)"
)


class Checks(Auth, Start, Lifecycle, Jobs, Mcp):
    def run(self):
        groups = {
            "auth": self.auth,
            "rules": self.start_rules,
            "lifecycle": self.lifecycle,
            "natural": self.natural_end,
            "jobs": self.jobs,
            "mcp": self.mcp,
        }
        for name in self.args.only or list(groups):
            try:
                groups[name]()
            except Exception as fault:  # noqa: BLE001 - a malformed answer must not hide the other groups
                self.check(f"{name}.crashed", False, f"{type(fault).__name__}: {fault}")
        report = self.report
        counts = [f"{report.count(verdict)} {verdict}" for verdict in ("ok", "FAIL", "warn", "skip")]
        print(", ".join(counts))
        if self.args.out:
            with Path(self.args.out).open("w", encoding="utf-8") as handle:
                json.dump([{"verdict": v, "check": n, "note": t} for v, n, t in report.rows], handle, indent=1)
        if not self.args.keep:
            shutil.rmtree(self.work, ignore_errors=True)
        return 1 if report.count("FAIL") else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base_url")
    parser.add_argument("api_key")
    parser.add_argument("--el", default=os.environ.get("EL") or shutil.which("el") or "el")
    parser.add_argument("--viewer-key")
    parser.add_argument("--nostop-key")
    parser.add_argument("--other-key")
    parser.add_argument("--train-request", help=TEMPLATE)
    parser.add_argument("--label-rule", choices=["literal", "owned"], help=LABELS)
    parser.add_argument("--cap", type=float, default=1.0, help="model_usd_cap of the dry runs (default 1)")
    parser.add_argument(
        "--patience", type=float, default=120, help="seconds to wait for a round, job or end (default 120)"
    )
    parser.add_argument("--prefix", help="run ID prefix (default: random)")
    parser.add_argument("--only", action="append", choices=["auth", "rules", "lifecycle", "natural", "jobs", "mcp"])
    parser.add_argument("--out", help="write every verdict as JSON")
    parser.add_argument("--strict", action="store_true", help="SHOULD checks fail too")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    if not (os.access(args.el, os.X_OK)):
        parser.error("the el client was not found; give --el PATH")
    return Checks(args).run()


if __name__ == "__main__":
    sys.exit(main())
