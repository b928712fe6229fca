"""Auditor: no training row may be an item of an evaluation set."""

from __future__ import annotations

from collections import Counter

from everloop.operators.base import Case, Review, Stage


class ContaminationAuditor:
    """Looks every training row up among the items reserved to dev, certify, blind, calib and the other sets."""

    kind = "contamination"
    """Kind of its reviews."""
    stage = Stage.AUDIT
    """Needs the rows."""
    asks = False
    """It is a rule."""

    def review(self, case: Case) -> Review:
        """Reject if any row's prompt belongs to another set, or if there is no way to tell."""
        if case.rows and case.reserved is None:
            return Review(self.kind, False, f"{len(case.rows)} rows could not be checked: reserved items are unknown")
        owners = Counter[str]()
        example = ""
        for row in case.rows:
            owner = case.reserved(row.prompt) if case.reserved else None
            if owner is not None:
                owners[owner] += 1
                example = example or f"{row.prompt!r:.80} of {owner}"
        if not owners:
            looked = f"none of {len(case.rows)} training rows" if case.rows else "nothing in it"
            return Review(self.kind, True, f"{looked} is an item of another set")
        found = ", ".join(f"{count} of {owner}" for owner, count in sorted(owners.items()))
        return Review(self.kind, False, f"training rows equal reserved items: {found}; first: {example}")
