"""Routes of approvals and samples: who may decide, what a decision is, what is refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from calling import Api
from carrying import RUNS, Carried, start

from everloop.service.permissions import KeyKind, Permission, Role
from everloop.store import approvals

EVIDENCE = {"round": 1, "baseline": "v0", "judge": {"id": "j", "version": "1"}, "sha256": "0" * 64}


def asked(api: Api, run: str, occasion: str) -> str:
    """An approval that waits, of a run that does not."""
    api.post(RUNS, key=api.key(), json=start(run))
    with api.place.database.write() as tx:
        approvals.put(tx, run, "certification", "r1c1", occasion=occasion, document=EVIDENCE)
    return approvals.id_of(run, "certification", "r1c1", occasion)


def test_an_approval_is_listed_decided_once_and_then_stays(shared: Api) -> None:
    name, decides = asked(shared, "waits-1", "a"), shared.key(KeyKind.CUSTOM, Permission.READ, Permission.APPROVE)
    listed = shared.get("/v1/approvals?state=pending", key=shared.key()).json["items"]
    assert name in [one["approval_id"] for one in listed]
    path = f"/v1/approvals/{name}/decision"
    done = shared.post(path, key=decides, json={"decision": "reject", "reason": "No."})
    assert (done.status, done.json["state"], done.json["reason"]) == (200, "rejected", "No.")
    again = shared.post(path, key=decides, json={"decision": "approve"})
    assert (again.status, again.code) == (409, "CONFLICT")
    assert shared.get(f"/v1/approvals/{name}", key=shared.key()).json == done.json


def test_an_admin_who_signed_in_decides_too(shared: Api) -> None:
    path = f"/v1/approvals/{asked(shared, 'waits-2', 'a')}/decision"
    answer = shared.post(path, key=shared.person(Role.ADMIN), json={"decision": "approve"})
    assert (answer.status, answer.json["state"]) == (200, "approved")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER, None])
def test_nobody_else_decides(shared: Api, role: Role | None) -> None:
    who = shared.key() if role is None else shared.person(role)
    answer = shared.post(f"/v1/approvals/{asked(shared, 'waits-3', 'a')}/decision", key=who, json={})
    assert (answer.status, answer.code) == (403, "ACCESS_DENIED")


@pytest.mark.parametrize(
    "body",
    [[], {}, {"decision": "maybe"}, {"decision": "reject"}, {"decision": "reject", "reason": " "}, {"more": 1}],
)
def test_a_decision_that_is_none_is_refused(shared: Api, body: Any) -> None:
    decides = shared.key(KeyKind.CUSTOM, Permission.READ, Permission.APPROVE)
    answer = shared.post(f"/v1/approvals/{asked(shared, 'waits-4', 'a')}/decision", key=decides, json=body)
    assert (answer.status, answer.code) == (422, "INVALID_RSI_REQUEST")


def test_an_approval_of_another_project_is_as_unknown_as_none(shared: Api) -> None:
    other = shared.key(project=shared.project("elsewhere"))
    for name in (asked(shared, "waits-5", "a"), "apr-0000"):
        answer = shared.get(f"/v1/approvals/{name}", key=other)
        assert (answer.status, answer.code) == (404, "NOT_FOUND")
    assert shared.get("/v1/approvals", key=other).json["items"] == []


def test_approvals_are_read_page_by_page(shared: Api) -> None:
    wanted = {asked(shared, "waits-6", str(number)) for number in range(3)}
    found: list[str] = []
    query = "?limit=1"
    while True:
        page = shared.get(f"/v1/approvals{query}", key=shared.key()).json
        found += [one["approval_id"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        query = f"?limit=1&cursor={page['next_cursor']}"
    assert wanted <= set(found) and len(set(found)) == len(found)


@pytest.mark.parametrize("query", ["state=maybe", "limit=0", "cursor=x"])
def test_a_list_of_approvals_says_what_it_does_not_take(shared: Api, query: str) -> None:
    assert shared.get(f"/v1/approvals?{query}", key=shared.key()).status == 422


@pytest.mark.parametrize("week", ["2026", "2026-W99", "9999-W01", "0000-W01", "x" * 5000])
def test_a_week_that_is_none_is_refused(shared: Api, week: str) -> None:
    answer = shared.get("/v1/samples", key=shared.key(), params={"week": week})
    assert (answer.status, answer.code) == (422, "INVALID_RSI_REQUEST")


def test_a_rejected_candidate_of_a_real_run_is_judged(carried: Carried) -> None:
    api = carried.api
    rounds = [one for run in ("live-1", "dry-1") for one in api.get(f"{RUNS}/{run}", key=carried.key).json["rounds"]]
    refused = [one for found in rounds for one in found["candidates"] if one["decision"] in {"rejected", "reverted"}]
    assert refused, "the runs rejected nothing"
    at = api.get(f"{RUNS}/live-1", key=carried.key).json["created_at"]
    week = week_of(at)
    sample = api.get(f"/v1/samples?week={week}", key=carried.key).json
    assert sample["rejected"] == len(refused)
    one = sample["items"][0]
    path = f"/v1/samples/{one['run']}/{one['candidate']}/verdict"
    judges = api.key(KeyKind.CUSTOM, Permission.READ, Permission.APPROVE)
    said = api.post(path, key=judges, json={"good": True, "reason": "It helps."})
    assert (said.status, said.json["good"]) == (201, True)
    told = api.get(f"/v1/samples?week={week}", key=carried.key).json
    assert (told["judged"], told["items"][0]["label"]["reason"]) == (1, "It helps.")
    assert api.post(path, key=carried.key, json={"good": True}).status == 403
    assert api.post(path, key=judges, json={"good": "yes"}).status == 422
    assert api.post(path, key=judges, json={"good": True, "run": "x"}).status == 422
    assert api.post(path.replace(one["candidate"], "r99c9"), key=judges, json={"good": True}).status == 404


def week_of(at: str) -> str:
    year, number, _ = datetime.fromisoformat(at).isocalendar()
    return f"{year}-W{number:02}"
