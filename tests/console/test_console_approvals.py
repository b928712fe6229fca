"""The page of approvals, by real requests to a real server: shown here, decided elsewhere."""

from __future__ import annotations

import re

import pytest
import recorded
from visiting import Reader, Site

from everloop.console.approvals import ROWS
from everloop.service import approvals
from everloop.service.caller import Caller
from everloop.service.permissions import ALL, Role


@pytest.fixture
def project(site: Site, reader: Reader) -> str:
    """A project of its own that the reader may look at, as a Viewer."""
    made = site.project()
    reader.enter((made, Role.VIEWER))
    return made


def shown(reader: Reader) -> list[str]:
    return re.findall(r'<article class="card approval" id="(apr-\w+)"', reader.page.text)


def test_what_waits_is_shown_with_the_figures_a_decision_rests_on(site: Site, reader: Reader, project: str) -> None:
    run = recorded.run(site.place, "asks", project, state="paused")
    (approval_id,) = recorded.asked(site.place, run, ["r1c1"])
    reader.get(f"/local/{project}/approvals")
    assert shown(reader) == [approval_id] and "r1c1 of asks" in reader.text and "waiting" in reader.text
    assert "Change +0.068 [+0.033, +0.102], n = 400, missing: 0" in reader.text
    assert "6.65; the threshold is 5.30" in reader.text and "rubric, version 1" in reader.text
    assert "Train on verified samples of s3 and s4." in reader.text and "s3 16 3 28 53 0 / 1" in reader.text
    assert f'href="/local/{project}/rsi/model-loops/asks"' in reader.page.text


def test_it_says_how_to_decide_and_offers_no_way_to_do_so_here(site: Site, reader: Reader, project: str) -> None:
    run = recorded.run(site.place, "decides", project)
    (approval_id,) = recorded.asked(site.place, run, ["r1c1"])
    reader.get(f"/local/{project}/approvals")
    assert f"el approve decide {approval_id} --approve" in reader.text
    assert f"el approve decide {approval_id} --reject --reason" in reader.text
    assert set(re.findall(r'<form method="post" action="([^"]*)"', reader.page.text)) == {"/sign-out"}
    assert reader.client.post(f"/local/{project}/approvals").status_code == 405


def test_a_decision_is_shown_with_who_took_it_when_and_why(site: Site, reader: Reader, project: str) -> None:
    run = recorded.run(site.place, "decided", project)
    yes, no = recorded.asked(site.place, run, ["r1c1", "r2c1"])
    _, user_id = site.person((project, Role.ADMIN), password=None)
    admin = Caller(f"user:{user_id}", "local", project, ALL, "session")
    approvals.decide(site.place, yes, "approve", caller=admin)
    approvals.decide(site.place, no, "reject", "The gain is <b>in</b> one family.", caller=admin)
    assert shown_of(reader, project, "") == []
    assert shown_of(reader, project, "approved") == [yes]
    assert "approved" in reader.text and "UTC by Ada <Lovelace>" in reader.text
    assert shown_of(reader, project, "rejected") == [no]
    assert "The gain is &lt;b&gt;in&lt;/b&gt; one family." in reader.page.text
    assert "el approve decide" not in reader.text


def shown_of(reader: Reader, project: str, state: str) -> list[str]:
    reader.get(f"/local/{project}/approvals" + (f"?state={state}" if state else ""))
    return shown(reader)


def test_an_approval_with_nulls_everywhere_is_shown_with_dashes(site: Site, reader: Reader, project: str) -> None:
    run = recorded.run(site.place, "bare-approval", project)
    empty = {"round": None, "baseline": None, "judge": None, "sha256": None, "rationale": None, "evidence": None}
    recorded.asked(site.place, run, ["r1c1"], {})
    recorded.asked(site.place, run, ["r1c2"], dict(empty))
    recorded.asked(site.place, run, ["r1c3"], {"evidence": {"change": None, "families": {"s1": None}}, "judge": {}})
    assert reader.get(f"/local/{project}/approvals").status_code == 200
    assert len(shown(reader)) == 3 and "None" not in reader.text
    assert reader.text.count("Change — —, n = —, missing: —") == 3 and reader.text.count("Round —") == 3


def test_where_nothing_waits_it_says_so(reader: Reader, project: str) -> None:
    reader.get(f"/local/{project}/approvals")
    assert "Nothing waits for a decision" in reader.text
    reader.get(f"/local/{project}/approvals?state=rejected")
    assert "There is no approval of this state" in reader.text
    assert reader.get(f"/local/{project}/approvals?state=odd").status_code == 422


def test_approvals_of_other_projects_are_not_shown(site: Site, reader: Reader, project: str) -> None:
    run = recorded.run(site.place, "not-yours", site.project())
    recorded.asked(site.place, run, ["r1c1"])
    assert shown_of(reader, project, "") == [] and "not-yours" not in reader.text


def test_many_approvals_come_in_pages_that_hold_each_once(site: Site, reader: Reader, project: str) -> None:
    run = recorded.run(site.place, "asks-often", project)
    made = recorded.asked(site.place, run, [f"r{n}c1" for n in range(2 * ROWS + 1)])
    seen = shown_of(reader, project, "")
    while found := re.search(r'rel="next" href="([^"]*)"', reader.page.text):
        reader.get(found[1].replace("&amp;", "&"))
        seen += shown(reader)
    assert sorted(seen) == sorted(made) and len(set(seen)) == len(made)
