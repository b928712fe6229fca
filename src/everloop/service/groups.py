"""Groups of runs: what an improvement is of, by which the console's navigation is ordered."""

from __future__ import annotations

from collections.abc import Collection

from everloop.service import visibility
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Permission
from everloop.store import run_groups

MODEL = "model"
"""Group of runs that train a model."""
GROUPS = (MODEL, "infra", "harness", "data", "search")
"""Every group there is a list for."""


def of(installation: Installation, names: Collection[str], caller: Caller = LOCAL) -> dict[str, str]:
    """Run -> its group, for those of these runs that the caller sees (the rule of `visibility`); the others lack."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        found = run_groups.of(tx, names)
        return {one.run: _listed(one.group) for one in found if visibility.sees(tx, one.run, one, caller)}


def _listed(group: str) -> str:
    """A run of a group that there is no list for is shown among the models."""
    return group if group in GROUPS else MODEL
