"""Routes of members, keys and the audit log: for Admins who signed in, and for nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from calling import Answer, Api, Session

from everloop.service.permissions import KeyKind, Permission, Role

PROJECT = "/v1/workspaces/local/projects/local"
MANAGED: list[Callable[[Api, Any], Answer]] = [
    lambda api, who: api.get(f"{PROJECT}/keys", key=who),
    lambda api, who: api.post(f"{PROJECT}/keys", key=who, json={}),
    lambda api, who: api.delete(f"{PROJECT}/keys/0123456789ab", key=who),
    lambda api, who: api.get(f"{PROJECT}/member-candidates", key=who),
    lambda api, who: api.put(f"{PROJECT}/members/owner", key=who, json={"role": "viewer"}),
    lambda api, who: api.delete(f"{PROJECT}/members/owner", key=who),
    lambda api, who: api.get(f"{PROJECT}/audit", key=who),
]


@pytest.fixture(scope="module")
def admin(shared: Api) -> Session:
    return shared.person(Role.ADMIN, "admin@example.org")


@pytest.mark.parametrize("ask", MANAGED)
@pytest.mark.parametrize("who", ["automation", "every permission", "viewer", "developer"])
def test_only_an_admin_who_signed_in_manages_a_project(
    shared: Api, ask: Callable[[Api, Any], Answer], who: str
) -> None:
    every = (Permission.READ, Permission.RUN, Permission.STOP, Permission.APPROVE)
    callers: dict[str, Callable[[], Any]] = {
        "automation": shared.key,
        "every permission": lambda: shared.key(KeyKind.CUSTOM, *every),
        "viewer": lambda: shared.person(Role.VIEWER),
        "developer": lambda: shared.person(Role.DEVELOPER),
    }
    answer = ask(shared, callers[who]())
    assert (answer.status, answer.code) == (403, "ACCESS_DENIED")


def test_a_new_key_works_until_it_is_revoked(shared: Api, admin: Session) -> None:
    made = shared.post(f"{PROJECT}/keys", key=admin, json={"name": "nightly", "kind": "read-only"})
    assert (made.status, made.json["permissions"], made.json["name"]) == (201, ["read"], "nightly")
    key, path = made.json["key"], f"{PROJECT}/keys/{made.json['prefix']}"
    assert shared.get("/v1/job", key=key).status == 200
    assert shared.delete(path, key=admin).json["state"] == "revoked"
    assert shared.delete(path, key=admin).status == 200
    assert shared.get("/v1/job", key=key).status == 401


def test_keys_are_listed_page_by_page_without_their_secrets(shared: Api, admin: Session) -> None:
    made = [shared.post(f"{PROJECT}/keys", key=admin, json={"name": f"page {n}"}).json for n in range(3)]
    found: list[dict[str, Any]] = []
    query = "?limit=2"
    while True:
        answer = shared.get(f"{PROJECT}/keys{query}", key=admin)
        assert not any(one["key"] in answer.text for one in made)
        found += answer.json["items"]
        if answer.json["next_cursor"] is None:
            break
        query = f"?limit=2&cursor={answer.json['next_cursor']}"
    assert [one["prefix"] for one in found[:3]] == [one["prefix"] for one in made[::-1]]
    assert len({one["prefix"] for one in found}) == len(found)


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"name": 1},
        {"name": "x" * 129},
        {"name": "tab\there"},
        {"kind": "root"},
        {"kind": None, "permissions": ["read"]},
        {"kind": "custom"},
        {"kind": "custom", "permissions": ["project.manage"]},
        {"kind": "custom", "permissions": "read"},
        {"kind": "custom", "permissions": [1]},
        {"expires_days": 0},
        {"expires_days": -1},
        {"expires_days": 1e300},
        {"expires_days": "1"},
        {"expires_days": True},
        {"surprise": 1},
    ],
)
def test_a_key_that_cannot_be_is_refused(shared: Api, admin: Session, body: Any) -> None:
    answer = shared.post(f"{PROJECT}/keys", key=admin, json=body)
    assert (answer.status, answer.code) == (422, "INVALID_RSI_REQUEST")


def test_a_browser_s_request_from_another_site_changes_nothing(shared: Api, admin: Session) -> None:
    answer = shared.post(f"{PROJECT}/keys", key=admin, json={}, headers={"Origin": "https://evil.example"})
    assert (answer.status, answer.code) == (403, "ACCESS_DENIED")


def test_a_person_is_found_made_a_member_changed_and_removed(shared: Api, admin: Session) -> None:
    person = shared.person(Role.VIEWER, "grace@example.org", project=shared.project("elsewhere"))
    found = shared.get(f"{PROJECT}/member-candidates", key=admin, params={"q": "GRACE"}).json["items"]
    assert [one["user_id"] for one in found] == [person.user_id]
    path = f"{PROJECT}/members/{person.user_id}"
    assert shared.put(path, key=admin, json={"role": "developer"}).json["role"] == "developer"
    assert shared.put(path, key=admin, json={"role": "viewer"}).json["role"] == "viewer"
    listed = {one["user_id"]: one["role"] for one in shared.get(f"{PROJECT}/members", key=admin).json["items"]}
    assert listed[person.user_id] == "viewer"
    assert [shared.delete(path, key=admin).status for _ in range(2)] == [204, 204]
    listed = {one["user_id"] for one in shared.get(f"{PROJECT}/members", key=admin).json["items"]}
    assert person.user_id not in listed


@pytest.mark.parametrize("body", [{}, [], {"role": "king"}, {"role": None}, {"role": "viewer", "more": 1}])
def test_a_role_that_is_none_is_refused(shared: Api, admin: Session, body: Any) -> None:
    answer = shared.put(f"{PROJECT}/members/owner", key=admin, json=body)
    assert (answer.status, answer.code) == (422, "INVALID_RSI_REQUEST")


def test_an_unknown_person_is_not_found(shared: Api, admin: Session) -> None:
    answers = [
        shared.put(f"{PROJECT}/members/nobody", key=admin, json={"role": "viewer"}),
        shared.delete(f"{PROJECT}/members/nobody", key=admin),
    ]
    assert [(one.status, one.code) for one in answers] == [(404, "NOT_FOUND")] * 2


def test_the_last_admin_stays(shared: Api) -> None:
    name = shared.project("alone")
    alone = shared.person(Role.ADMIN, project=name)
    path = f"/v1/workspaces/local/projects/{name}/members/{alone.user_id}"
    answers = [shared.put(path, key=alone, json={"role": "viewer"}), shared.delete(path, key=alone)]
    assert [(one.status, one.code) for one in answers] == [(409, "CONFLICT")] * 2


def test_members_are_seen_by_whoever_reads(shared: Api) -> None:
    shown = shared.get(f"{PROJECT}/members", key=shared.key(KeyKind.READ_ONLY)).json["items"]
    assert "owner" in {one["user_id"] for one in shown}


def test_changes_and_refusals_stand_in_the_audit_log(shared: Api, admin: Session) -> None:
    reads = shared.key(KeyKind.READ_ONLY, fresh=True)
    assert shared.post("/v1/agent-runs/rsi/runs", key=reads, json={}).status == 403
    assert shared.post(f"{PROJECT}/keys", key=admin, json={}).status == 201
    made, refused = shared.get(f"{PROJECT}/audit?limit=2", key=admin).json["items"]
    assert (made["status"], made["subject"], made["surface"]) == (201, f"user:{admin.user_id}", "rest")
    assert (refused["status"], refused["code"]) == (403, "ACCESS_DENIED")
    assert reads not in shared.get(f"{PROJECT}/audit?limit=100", key=admin).text


def test_the_audit_log_is_read_page_by_page(shared: Api, admin: Session) -> None:
    for _ in range(3):
        shared.post(f"{PROJECT}/keys", key=admin, json={})
    first = shared.get(f"{PROJECT}/audit?limit=1", key=admin).json
    second = shared.get(f"{PROJECT}/audit?limit=1&cursor={first['next_cursor']}", key=admin).json
    assert second["items"][0]["id"] < first["items"][0]["id"]
    assert shared.get(f"{PROJECT}/audit?cursor=x", key=admin).code == "INVALID_CURSOR"
