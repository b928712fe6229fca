"""Task families, item generators, verifiers."""

from everloop.domains.base import Domain, Item, Verifier
from everloop.domains.registry import domain

__all__ = ["Domain", "Item", "Verifier", "domain"]
