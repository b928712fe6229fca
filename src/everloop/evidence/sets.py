"""Item sets: which item belongs to which, what may still be used, whether there are enough.

The set of an item is decided by its content hash alone, so that two sets can never share an item, whatever the seed,
the run or the family. Single-use sets are drawn forward only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from everloop.errors import SupplyExhausted

SETS = ("train", "diag", "dev", "certify", "blind", "calib")
"""Every set."""
_SHARES = {"train": 0.375, "diag": 0.0625, "dev": 0.125, "certify": 0.3125, "blind": 0.09375, "calib": 0.03125}
_SLOTS = 65_536
_ENDS = tuple(
    (round(_SLOTS * sum(_SHARES[other] for other in SETS[: place + 1])), name) for place, name in enumerate(SETS)
)


def share(name: str) -> float:
    """Share of all items that belong to a set, 0..1. KeyError for a set that does not exist."""
    return _SHARES[name]


def set_of(content_hash: str) -> str:
    """The set that owns an item with this SHA-256 content hash (hex)."""
    slot = int(content_hash[:4], 16)
    return next(name for end, name in _ENDS if slot < end)


@dataclass(frozen=True, slots=True)
class SetUse:
    """How often a drawn set has been used."""

    name: str
    """Which set."""
    n: int
    """Items."""
    uses: int = 0
    """Candidates compared on it."""
    use_cap: int = 20
    """Uses after which it is retired; 1 for single-use sets."""

    def used(self) -> SetUse:
        """The set after one more use."""
        return replace(self, uses=self.uses + 1)

    @property
    def retired(self) -> bool:
        """Whether it must be drawn anew before the next use."""
        return self.uses >= self.use_cap


def check_supply(needs: Mapping[str, int], supply: Mapping[str, int]) -> None:
    """SupplyExhausted when a set could need more items of a family than there are.

    `needs`: set -> most items a family gives over the whole run. `supply`: family -> distinct items.
    """
    for name, need in needs.items():
        for family, total in supply.items():
            # the split is by hash: a set's true size lies within six standard errors of its share
            spread = 6 * (total * share(name) * (1 - share(name))) ** 0.5
            have = int(total * share(name) - spread)
            if need > have:
                raise SupplyExhausted(
                    f"the protocol could exhaust the {name} items of family {family}",
                    why=f"it could use {need}, there are about {max(have, 0)}",
                    then=f"Use at most {max(have, 0) / need:.0%} of the rounds, or smaller sizes",
                )


def rounds_carried(needs: Callable[[int], Mapping[str, int]], supply: Mapping[str, int], most: int) -> int:
    """Most rounds, 0..`most`, whose needs the items of every family are sure to meet.

    `needs`: rounds -> set -> most items a family gives; it must not fall with the rounds.
    """

    def short(rounds: int) -> bool:
        try:
            check_supply(needs(rounds), supply)
        except SupplyExhausted:
            return True
        return False

    return bisect_left(range(1, most + 1), True, key=short)
