"""Routes of who one is: keys see their own project, people theirs, nobody another's."""

from __future__ import annotations

import pytest
from calling import Api

from everloop.service.permissions import KeyKind, Permission, Role

PROJECT = "/v1/workspaces/local/projects/local"


def test_a_key_is_told_what_it_is(shared: Api) -> None:
    me = shared.get("/v1/me", key=shared.key()).json
    assert me["auth_method"] == "api_key"
    assert me["workspace"]["workspace_id"] == me["project"]["workspace_id"] == me["workspace_id"] == "local"
    assert me["project"]["project_id"] == me["project_id"] == "local"
    assert (me["person"], me["permissions"]) == (None, ["read", "training.run", "training.stop"])


def test_a_person_is_told_who_they_are_and_their_role(shared: Api) -> None:
    session = shared.person(Role.DEVELOPER, "ada@example.org")
    me = shared.get("/v1/me", key=session).json
    assert (me["auth_method"], me["subject"]) == ("session", f"user:{session.user_id}")
    assert me["person"] == {
        "user_id": session.user_id,
        "email": "ada@example.org",
        "name": "Developer",
        "role": "developer",
    }


def test_a_key_without_the_permission_to_read_is_told_so_much(shared: Api) -> None:
    key = shared.key(KeyKind.CUSTOM, Permission.STOP)
    assert shared.get("/v1/me", key=key).json["permissions"] == ["training.stop"]
    assert shared.get("/v1/job", key=key).status == 403
    assert shared.get(f"{PROJECT}/limits", key=key).status == 403


def test_a_key_sees_its_own_project_only(shared: Api) -> None:
    other = shared.key(project=shared.project("other"))
    assert [one["workspace_id"] for one in shared.get("/v1/workspaces", key=other).json["items"]] == ["local"]
    shown = shared.get("/v1/workspaces/local/projects", key=other).json
    assert ([one["project_id"] for one in shown["items"]], shown["next_cursor"]) == (["other"], None)


def test_a_person_sees_the_projects_they_are_a_member_of(shared: Api) -> None:
    session = shared.person(Role.VIEWER, project=shared.project("theirs"))
    shown = shared.get("/v1/workspaces/local/projects", key=session).json["items"]
    assert [one["project_id"] for one in shown] == ["theirs"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/workspaces/none/projects",
        "/v1/workspaces/none/projects/local",
        "/v1/workspaces/local/projects/none",
        "/v1/workspaces/none/projects/local/limits",
        "/v1/workspaces/local/projects/none/members",
        "/v1/workspaces/local/projects/hidden",
        "/v1/workspaces/local/projects/hidden/limits",
    ],
)
def test_what_is_not_there_and_what_is_not_seen_are_the_same(shared: Api, path: str) -> None:
    shared.project("hidden")
    answer = shared.get(path, key=shared.key())
    assert (answer.status, answer.code) == (404, "NOT_FOUND")


@pytest.mark.parametrize("header", ["X-Workspace-ID", "X-Project-ID"])
def test_a_header_of_another_scope_is_refused(shared: Api, header: str) -> None:
    answer = shared.get("/v1/me", key=shared.key(), headers={header: "other"})
    assert (answer.status, answer.code) == (403, "PROJECT_ACCESS_DENIED")
    own = {"X-Workspace-ID": "local", "X-Project-ID": "local"}
    assert shared.get("/v1/me", key=shared.key(), headers=own).status == 200


def test_a_person_must_choose_the_project_they_look_into(shared: Api) -> None:
    session = shared.person(Role.ADMIN)
    shared.join(session, shared.project("second"), Role.ADMIN)
    answer = shared.get("/v1/workspaces/local/projects/second/keys", key=session)
    assert (answer.status, answer.code) == (403, "PROJECT_ACCESS_DENIED")
    assert shared.get("/v1/workspaces/local/projects/second", key=session).status == 200


def test_limits_are_those_in_force(shared: Api) -> None:
    told = shared.get(f"{PROJECT}/limits", key=shared.key()).json
    settings = shared.place.settings
    assert told["active_runs"] == settings.max_active_runs
    assert told["requests_per_minute"] == settings.api_requests_per_minute
