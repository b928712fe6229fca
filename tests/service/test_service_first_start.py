from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import event

from everloop.paths import Home
from everloop.service import first_start, people, projects
from everloop.service.caller import LOCAL
from everloop.service.first_start import First
from everloop.service.installation import Installation
from everloop.settings import Settings
from everloop.store.database import Database


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    return Installation(Settings(home=tmp_path, database_url=database.url), database, Home(tmp_path))


def test_a_first_start_makes_a_workspace_a_project_and_its_admin(installation: Installation) -> None:
    assert first_start.ensure(installation) == First("local", "local", "owner")
    assert [one.project_id for one in projects.listing(installation, LOCAL)] == ["local"]
    (owner,) = people.members(installation, LOCAL)
    assert (owner.user_id, owner.role, owner.email) == ("owner", "admin", None)
    assert people.find(installation, "owner", LOCAL).password is None


def test_starts_at_once_make_one_of_each(installation: Installation) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: first_start.ensure(installation), range(4))) == {First()}
    assert len(people.members(installation, LOCAL)) == 1


def test_a_later_start_writes_nothing_and_gives_nothing_back(installation: Installation) -> None:
    first_start.ensure(installation)
    people.remove_member(installation, "local", "owner", LOCAL)
    written: list[object] = []
    note = lambda *arguments: written.append(arguments[2])  # noqa: E731 - one line
    event.listen(installation.database.engine, "before_cursor_execute", note)
    first_start.ensure(installation)
    assert not any("INSERT" in str(one) for one in written)
    assert people.members(installation, LOCAL) == []


def test_what_is_missing_is_made_again(installation: Installation) -> None:
    first_start.ensure(installation)
    with installation.database.write() as tx:
        tx.exec_driver_sql("DELETE FROM projects")
    first_start.ensure(installation)
    assert projects.get_project(installation, "local", LOCAL)
