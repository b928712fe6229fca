"""Who did something is told by name where they are a member of the project, on the page of a run as on the others."""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa
import stored
from visiting import Reader, Site

from everloop.service.caller import Caller
from everloop.service.permissions import Permission, Role
from everloop.store import steers, tables


@pytest.fixture
def page(site: Site, reader: Reader) -> str:
    """The path of a run whose owner, author and decider is the reader; one further steer is of a key."""
    project = site.project()
    me = f"user:{reader.enter((project, Role.ADMIN))}"
    caller = Caller(me, "local", project, frozenset(Permission))
    run = stored.paused(site.place, f"named-{project}", caller=caller)
    at = "2026-11-28T10:00:00.000000Z"
    with site.place.database.write() as tx:
        for author, text in ((me, "mine"), ("key:6f4de2a43d87", "another's")):
            steers.queue(tx, run, text, author, at)
        tx.execute(sa.insert(tables.directives).values(run=run, text="a directive", author=me, at=at))
        tx.execute(sa.update(tables.approvals).where(tables.approvals.c.run == run).values(decided_by=me))
    return f"/local/{project}/rsi/model-loops/{run}"


def test_owner_authors_and_who_decided_are_told_by_name(reader: Reader, page: str) -> None:
    assert reader.get(page).status_code == 200
    words = reader.text
    assert "Started by Ada <Lovelace>" in words
    assert re.search(r"UTC · Ada <Lovelace> mine", words)
    assert re.search(r"UTC · key:6f4de2a43d87 another's", words)
    assert re.search(r"UTC · Ada <Lovelace> a directive", words)
    approvals = reader.page.text.partition('id="approvals-caption"')[2].partition("</table>")[0]
    assert "Ada &lt;Lovelace&gt;" in approvals and "user:" not in approvals


def test_the_board_and_what_follows_say_the_same_names(reader: Reader, page: str) -> None:
    assert "Ada &lt;Lovelace&gt;" in reader.get(f"{page}/board").text
    live = reader.get(f"{page}/live?since=0").json()["html"]
    assert "Ada &lt;Lovelace&gt;" in live and "key:6f4de2a43d87" in live


@pytest.mark.parametrize(("role", "shown"), [(Role.ADMIN, "Admin"), (Role.DEVELOPER, "Developer")])
def test_a_role_is_written_the_same_way_everywhere(site: Site, reader: Reader, role: Role, shown: str) -> None:
    project = site.project()
    user_id = reader.enter((project, role))
    reader.get("/")
    assert re.search(rf"local / {project} {shown} ", reader.text)
    admin = Reader(site)
    admin.enter((project, Role.ADMIN))
    row = admin.get(f"/local/{project}/members").text.partition(f'id="{user_id}"')[2].partition("</tr>")[0]
    assert f"<td>{shown}</td>" in row
    admin.client.close()
