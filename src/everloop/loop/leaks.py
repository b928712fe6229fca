"""Items of evaluation sets inside a text: a prompt may hold none of those that it could be measured on."""

from __future__ import annotations

import re

from everloop.domains.base import Item
from everloop.loop.context import Context

MEASURED = ("dev", "certify", "blind", "calib")
"""Sets whose items a candidate may be measured on, or the judge is."""
FINAL_GATES = 4
"""Final gates whose items are looked for: the one at the end, and those after extensions."""
_AROUND_SIGNS = re.compile(r"\s*([^\w\s])\s*")


def leaked(context: Context, text: str) -> list[Item]:
    """Items that the run may measure on and whose task stands in the text, white space and case aside.

    Every item the protocol could draw up to the run's target is looked for; sets are drawn from the run's seed alone.
    """
    told = _plain(text)
    return [item for item in _reserved(context) if (task := _plain(item.prompt)) in told and _stands(task, told)]


def _reserved(context: Context) -> list[Item]:
    protocol = context.protocol
    families = context.domain.families()
    carried = protocol.carries({family: context.domain.supply(family) for family in families})
    needs = protocol.needs(min(context.row.rounds_target, carried), FINAL_GATES)
    found: list[Item] = []
    for name in MEASURED:
        start = dict.fromkeys(families, 0)
        most = min(needs[name], *(context.domain.supply(family) for family in families)) * len(families)
        found += context.stream.draw_balanced(name, most, start)[0]
    return found


def _plain(text: str) -> str:
    """Lower case, single spaces, none around signs: ``47 +38`` and ``47 + 38`` are the same task."""
    return _AROUND_SIGNS.sub(r"\1", " ".join(text.lower().split()))


def _stands(task: str, text: str) -> bool:
    """Whether the task stands there by itself: ``5+30`` does not in ``15+30``."""
    begin = r"(?<!\w)" if task[0].isalnum() else ""
    end = r"(?!\w)" if task[-1].isalnum() else ""
    return re.search(f"{begin}{re.escape(task)}{end}", text) is not None
