from __future__ import annotations

from datetime import timedelta

from everloop.store import grants
from everloop.store.database import Database
from everloop.store.grants import GrantRow
from everloop.values import iso, utcnow


def row(grant_id: str = "g", seconds: float = 60, state: str = "pending") -> GrantRow:
    now = utcnow()
    times = (str(iso(now)), str(iso(now + timedelta(seconds=seconds))))
    return GrantRow(grant_id, "k" * 64, "p" * 64, "c" * 64, state, None, None, None, *times, None)


def test_a_grant_is_found_as_it_was_stored(database: Database) -> None:
    made = row()
    with database.write() as tx:
        grants.create(tx, made)
        assert grants.get(tx, "g", lock=True) == made
        assert grants.get(tx, "other") is None


def test_wrong_codes_are_counted(database: Database) -> None:
    with database.write() as tx:
        grants.create(tx, row())
        for count in range(3):
            found = grants.get(tx, "g")
            assert found is not None
            assert (found.misses, found.pending) == (count, True)
            grants.missed(tx, found)


def test_a_decided_grant_says_by_whom_and_when(database: Database) -> None:
    with database.write() as tx:
        grants.create(tx, row())
        grants.decide(tx, "g", grants.APPROVED, user_id="u", workspace_id="w", project_id="p")
        found = grants.get(tx, "g")
    assert found is not None
    assert (found.state, found.pending, found.user_id, found.workspace_id, found.project_id) == (
        "approved",
        False,
        "u",
        "w",
        "p",
    )
    assert found.decided_at is not None


def test_only_what_is_pending_and_has_not_expired_waits(database: Database) -> None:
    with database.write() as tx:
        for made in (row("a"), row("b", state="pending-2"), row("c", seconds=-1), row("d", state="denied")):
            grants.create(tx, made)
        assert grants.waiting(tx) == 2


def test_only_what_waits_gives_way_the_oldest_first(database: Database) -> None:
    with database.write() as tx:
        for made in (row("d", state="denied"), row("c", seconds=-1), row("b"), row("a", state="pending-2"), row("e")):
            grants.create(tx, made)
        assert grants.oldest(tx, 2) == ["b", "a"]
        grants.give_way(tx, ["b", "a", "d", "unknown"])
        found = {one: grants.get(tx, one) for one in "abde"}
        assert grants.waiting(tx) == 1
    assert [one and one.state for one in found.values()] == ["cancelled", "cancelled", "denied", "pending"]


def test_what_expired_long_ago_is_forgotten(database: Database) -> None:
    with database.write() as tx:
        grants.create(tx, row("old", seconds=-120))
        grants.create(tx, row("new", seconds=-1))
        grants.forget(tx, str(iso(utcnow() - timedelta(seconds=60))))
        assert grants.get(tx, "old") is None
        assert grants.get(tx, "new") is not None
