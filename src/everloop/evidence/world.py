"""Simulated items and proposals for trying gates: difficulty is shared between the two sides of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.bool_]
Items = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class World:
    """How proposals turn out and how alike two systems' outcomes on an item are."""

    rho: float = 0.8
    """Correlation of the latent Gaussian scores of two systems on an item, 0 <= rho < 1."""
    start: float = 0.5
    """True quality at the start, 0..1."""
    better: float = 0.1
    """Share of proposals that are better."""
    worse: float = 0.3
    """Share that are worse; the rest are equal."""
    low: int = 2
    """Least change, in points (1 = .01)."""
    high: int = 8
    """Largest change, in points."""

    def __post_init__(self) -> None:
        if not 0 <= self.rho < 1 or not 0.02 <= self.start <= 0.98:
            raise ValueError("rho must lie in 0 <= rho < 1 and start in .02 .. .98")

    @classmethod
    def rare(cls, *, rho: float = 0.8, start: float = 0.5) -> World:
        """3 % of proposals better, and by 1 to 4 points only."""
        return cls(rho=rho, start=start, better=0.03, low=1, high=4)


class Bench:
    """Seeded measuring in a world; counts item evaluations."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.spent = world, 0
        self._rng = np.random.default_rng(seed)

    def items(self, n: int) -> Items:
        """Fresh items: their difficulties."""
        return self._rng.standard_normal(n)

    def run(self, quality: float, items: Items) -> Bits:
        """Outcomes of a system of a true quality on items; costs an evaluation an item."""
        from scipy.special import ndtri

        self.spent += len(items)
        rho = self.world.rho
        latent = sqrt(rho) * items + sqrt(1 - rho) * self._rng.standard_normal(len(items))
        right: Bits = latent < ndtri(quality)
        return right

    def propose(self, quality: float) -> float:
        """True quality of a proposal made from a head of this quality: a whole number of points, within .02 .. .98."""
        return min(0.98, max(0.02, round(quality + self._sign() * int(self._points()) / 100, 2)))

    def change(self) -> float:
        """A continuous change of quality, for steps that do not compound."""
        return self._sign() * float(self._rng.uniform(self.world.low, self.world.high)) / 100

    def _points(self) -> int:
        return int(self._rng.integers(self.world.low, self.world.high + 1))

    def _sign(self) -> int:
        draw = self._rng.random()
        return 1 if draw < self.world.better else 0 if draw < 1 - self.world.worse else -1
