"""A keyed pseudo-random permutation of ``range(size)``: a random order that needs no memory of what was drawn.

A Feistel network over two nearly square moduli whose product is a little more than `size`, and cycle walking to get
back into the range: methods of Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002. The round
function is an integer hash (SplitMix64's finaliser), not a cipher: the order is thorough shuffling, not a secret.
"""

from __future__ import annotations

import hashlib
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.uint64]

ROUNDS = 8


class Permutation:
    """Maps positions 0..size-1 one to one onto indices 0..size-1, in an order fixed by the key."""

    def __init__(self, size: int, key: str) -> None:
        if not 1 <= size <= 1 << 62:
            raise ValueError(f"{size} is no size of an index space")
        self.size = size
        left = max(1, isqrt(size - 1) + 1)
        self._moduli = (np.uint64(left), np.uint64(-(-size // left)))
        digest = hashlib.shake_256(key.encode()).digest(8 * ROUNDS)
        self._keys = np.frombuffer(digest, dtype="<u8").astype(np.uint64)

    def indices(self, start: int, stop: int) -> list[int]:
        """The indices at positions ``start`` to ``stop - 1``; positions beyond `size` are left out."""
        at = self._feistel(np.arange(start, min(stop, self.size), dtype=np.uint64))
        outside = at >= np.uint64(self.size)
        while outside.any():
            at[outside] = self._feistel(at[outside])
            outside = at >= np.uint64(self.size)
        found: list[int] = at.tolist()
        return found

    def _feistel(self, at: Indices) -> Indices:
        """One pass over ``range(product of the moduli)``; each round keeps the pair's ranges swapped, an even number of
        rounds brings them back."""
        first, second = self._moduli
        left, right = at // second, at % second
        for key in self._keys:
            left, right = right, (left + _mixed(right + key)) % first
            first, second = second, first
        return left * second + right


def _mixed(value: Indices) -> Indices:
    """SplitMix64's finaliser, cut to 62 bits so that a sum with an index cannot wrap."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (value ^ (value >> np.uint64(31))) >> np.uint64(2)
