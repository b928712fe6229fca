"""Servers to talk to, and a place of its own for what is saved."""

from remote_fixtures import *  # noqa: F403 - fixtures are found by name
