"""Improvement loops that keep only improvements that survive evidence."""

__version__ = "0.1.0"
