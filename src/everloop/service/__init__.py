"""Use cases with their checks; the only way from an interface to the loop and the store."""
