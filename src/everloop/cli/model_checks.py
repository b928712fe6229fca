"""The checks of ``el doctor`` on the configured models: the walk to each, up to the first broken link."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from everloop.cli.checks import Check
from everloop.gateway.base import ModelEntry
from everloop.gateway.probe import Link, Pace, walk
from everloop.paths import Home
from everloop.service import models
from everloop.service.installation import Installation
from everloop.settings import Settings
from everloop.store.database import Database

AT_ONCE = 8
"""Models that are walked to at the same time, so that one that hangs does not hold the others up."""


def model_checks(settings: Settings, before: Sequence[Check], pace: Pace | None = None) -> list[Check]:
    """The checks of all models, in the order in which they were added. `before`: what the other checks found."""
    if any(check.check == "database" and check.result == "fail" for check in before):
        return [Check("models", "warn", "not looked at, as the database cannot be read", "Mend the database first")]
    database = Database(settings.url)
    installation = Installation(settings, database, Home(settings.home))
    try:
        entries = models.listing(installation)
        if not entries:
            return [_none()]
        pace = pace or Pace(deadline=settings.model_deadline_seconds)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            walks = list(threads.map(lambda entry: _walked(installation, entry, pace), entries))
    except Exception as error:  # noqa: BLE001 - a doctor tells what it met, whatever it is, and goes on
        told = f"cannot be read: {type(error).__name__}"
        return [Check("models", "fail", told, "See the check of the database, and run el doctor again")]
    finally:
        database.close()
    return [check for one in walks for check in one]


def _none() -> Check:
    then = "Add one: el model add NAME --model ID, or el model serve-local --register; live runs of nano need none"
    return Check("models", "warn", "none configured", then)


def _walked(installation: Installation, entry: ModelEntry, pace: Pace) -> list[Check]:
    links = walk(entry, lambda one: models.secret(installation, one), pace)
    return [_check(entry, link) for link in links]


def _check(entry: ModelEntry, link: Link) -> Check:
    return Check(f"model {entry.name} {link.link}", link.result, link.told, link.then)
