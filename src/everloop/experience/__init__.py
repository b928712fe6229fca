"""Experiences: what failures of a diagnosis teach."""

from everloop.experience.base import Experience
from everloop.experience.collector import collect
from everloop.experience.filter import Ending, Record, Sorted, sort

__all__ = ["Ending", "Experience", "Record", "Sorted", "collect", "sort"]
