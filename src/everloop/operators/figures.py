"""Auditor: figures that a rationale quotes for a family must be the diagnosis' own.

Only what can be told for certain is judged: a count or a rate that stands directly behind a family's name in a *why*,
as in ``add4_carry 0.45 (29 of n=64)``, ``add4_carry: 29/64`` or ``add4_carry at 45 %``. Sentences about earlier rounds
and about what is expected are left alone; whether the rest is true is for a reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from everloop.operators.base import Case, FamilyResult, Review, Stage

_LINK = r"(?:\s|[:=(,]|\b(?:at|is|has|scores|only|right|rate)\b)*"
_PERCENT = r"\s*(?:[%％]|per\s?cent\b|pct\b)"
# a share with another unit behind it (‰, points) is neither a rate nor a percentage, so it is not judged
_RATE = (
    rf"(?:(?P<percent>\d{{1,3}}(?:\.\d+)?|\.\d+){_PERCENT}(?!\s*points?\b)"
    rf"|(?P<rate>0?\.\d+|1\.0+)(?!\d|/|{_PERCENT}|\s*(?:‰|(?:per\s?cent(?:age)?\s+)?points?\b|pp\b)))"
)
_ALONE = _RATE.replace("<rate>", "<alone>").replace("<percent>", "<alone_percent>")
_COUNT = (
    r"(?P<right>\d{1,99})\s*(?:/\s*|of\s+n\s*=\s*|of\s+(?=\d+\s+(?:items|answers|tasks|right|correct)\b))"
    r"(?P<n>\d{1,99})(?![\d%])"
)
_ELSEWHEN = re.compile(
    r"\b(round|earlier|before|previous\w*|formerly|was|were|had|after|target|expect\w*|reach\w*|should|would|could|will|"
    r"from|to|than|above|below|least|most)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n")


class FiguresAuditor:
    """Rejects a family's count or rate that contradicts the diagnosis."""

    kind = "figures"
    """Kind of its reviews."""
    stage = Stage.SCREEN
    """Needs nothing built."""
    asks = False
    """It is a rule."""

    def review(self, case: Case) -> Review:
        """Compare every figure that can be told for certain."""
        texts = [case.proposal.rationale.why, *(one.why for one in case.proposal.interventions)]
        found = [one for text in texts for one in _compared(text, case.families)]
        wrong = list(dict.fromkeys(reason for reason in found if reason))
        if wrong:
            return Review(self.kind, False, "; ".join(wrong[:5]))
        return Review(
            self.kind, True, f"{len(found)} figures compared with the diagnosis of {len(case.families)} families"
        )


def _compared(text: str, families: Mapping[str, FamilyResult]) -> Iterator[str]:
    """For every comparable figure, what is wrong with it; empty where it is right."""
    for sentence in _SENTENCE.split(text):
        if _ELSEWHEN.search(sentence):
            continue
        for family, result in families.items():
            begin = rf"(?<![\w-]){re.escape(family)}(?![\w-]){_LINK}"
            for found in re.finditer(rf"{begin}(?:{_RATE}{_LINK})?{_COUNT}|{begin}{_ALONE}", sentence):
                yield _contradiction(family, result, found.groupdict())


def _contradiction(family: str, result: FamilyResult, quoted: Mapping[str, str | None]) -> str:
    truth = f"the diagnosis says {result.right} of n={result.n}"
    if quoted["n"] is not None and (int(quoted["right"] or 0), int(quoted["n"])) != (result.right, result.n):
        return f"why says {family} {quoted['right']} of {quoted['n']}, {truth}"
    percent = quoted["percent"] or quoted["alone_percent"]
    written = percent or quoted["rate"] or quoted["alone"]
    if written is None:
        return ""
    value = float(written) / 100 if percent else float(written)
    # half a step of the last place that was written, and a little for rounding
    decimals = len(written.partition(".")[2]) + (2 if percent else 0)
    if result.rate is None or abs(value - result.rate) > 0.51 * 10.0**-decimals + 1e-9:
        return f"why says {family} {written}{' %' if percent else ''}, {truth}"
    return ""
