from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from access_world import installation_on, other_project, person, signed_in, user

from everloop.errors import (
    AccessDenied,
    EverloopError,
    InvalidRequest,
    NotFound,
    ProjectAccessDenied,
    StateConflict,
    Unauthorized,
)
from everloop.service import access, keys, people, sessions
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation
from everloop.service.keys import KeyRequest
from everloop.service.permissions import ALL, Role
from everloop.store import users
from everloop.store.database import Database

GOOD = "correct horse battery"
IDP = "https://idp.example.org"


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    return installation_on(database, tmp_path / "home")


@pytest.fixture
def alone(tmp_path: Path) -> Installation:
    database = Database(f"sqlite:///{tmp_path / 'everloop.db'}")
    database.migrate()
    return installation_on(database, tmp_path / "home")


def from_oidc(installation: Installation, subject: str, role: Role | None, email: str | None = "c@d.e") -> str:
    return people.user_from_oidc(installation, IDP, subject, email, "Cy", role, "local")


def roles(installation: Installation, project: str = "local") -> dict[str, str]:
    return {row.user_id: row.role for row in people.members(installation, LOCAL, project)}


def test_a_new_person_is_known_by_their_address_in_lower_case(installation: Installation) -> None:
    made = people.create_user(installation, " Ada@Example.org ", "", None, LOCAL)
    assert (made.email, made.name, made.password) == ("ada@example.org", "ada@example.org", None)
    assert people.find(installation, "ADA@example.org", LOCAL) == made == people.find(installation, made.user_id, LOCAL)
    with pytest.raises(StateConflict):
        people.create_user(installation, "ada@EXAMPLE.org", "Ada", None, LOCAL)


def test_an_admin_makes_people_but_no_one_else_does(alone: Installation) -> None:
    assert people.create_user(alone, "x@y.z", "X", GOOD, person(alone, "a@b.c", Role.ADMIN)).password != GOOD
    with pytest.raises(AccessDenied):
        people.create_user(alone, "v@y.z", "V", None, person(alone, "d@b.c", Role.DEVELOPER))


@pytest.mark.parametrize("email", ["", "@", "a@", "@b", "a b@c", "a@b\0", "a@\ud800", "x" * 320 + "@y"])
def test_what_is_no_address_is_refused(email: str, alone: Installation) -> None:
    with pytest.raises(InvalidRequest):
        people.create_user(alone, email, "", None, LOCAL)


@pytest.mark.parametrize("name", ["x" * 257, "a\nb"])
def test_a_name_is_a_short_line(name: str, alone: Installation) -> None:
    with pytest.raises(InvalidRequest):
        people.create_user(alone, "a@b.c", name, None, LOCAL)


@pytest.mark.parametrize("password", ["", "x" * 11, "x" * 1025])
def test_a_password_has_a_length(password: str, alone: Installation) -> None:
    user_id = user(alone, "a@b.c", None)
    with pytest.raises(InvalidRequest):
        people.set_password(alone, user_id, password, LOCAL)


def test_people_are_looked_up_on_this_machine_only(alone: Installation) -> None:
    with pytest.raises(AccessDenied):
        people.find(alone, "owner", person(alone, "a@b.c", Role.ADMIN))
    for who in ("none", "\0", ""):
        with pytest.raises(NotFound):
            people.find(alone, who, LOCAL)


def test_a_new_password_signs_a_person_out_everywhere(installation: Installation) -> None:
    user_id = user(installation, "a@b.c", Role.VIEWER)
    token, link = sessions.sign_in_user(installation, user_id)[0], sessions.make_link(installation, user_id)
    people.set_password(installation, user_id, GOOD, LOCAL)
    with pytest.raises(Unauthorized):
        access.authenticate_session(installation, token)
    with pytest.raises(Unauthorized):
        sessions.use_link(installation, link)
    assert sessions.sign_in(installation, "a@b.c", GOOD)


def test_people_set_their_own_password_and_nobody_else_s(alone: Installation) -> None:
    admin, other = person(alone, "a@b.c", Role.ADMIN), user(alone, "d@e.f", Role.VIEWER)
    people.set_password(alone, admin.subject.removeprefix("user:"), GOOD, admin)
    with pytest.raises(AccessDenied):
        people.set_password(alone, other, GOOD, admin)
    with pytest.raises(NotFound):
        people.set_password(alone, "none", GOOD, LOCAL)


def test_a_disabled_person_is_out_until_enabled(installation: Installation) -> None:
    user_id = user(installation, "a@b.c", Role.ADMIN)
    admin = signed_in(installation, user_id)
    token, link = sessions.sign_in_user(installation, user_id)[0], sessions.make_link(installation, user_id)
    keys.create_key(installation, KeyRequest(), admin)
    people.disable_user(installation, user_id, LOCAL)
    people.disable_user(installation, user_id, LOCAL)
    refused: list[Callable[[], object]] = [
        lambda: access.authenticate_session(installation, token),
        lambda: sessions.use_link(installation, link),
        lambda: sessions.sign_in_user(installation, user_id),
    ]
    for act in refused:
        with pytest.raises(Unauthorized):
            act()
    assert [row.revoked_at is None for row in keys.list_keys(installation, LOCAL)] == [False]
    people.enable_user(installation, user_id, LOCAL)
    assert signed_in(installation, user_id).permissions == ALL
    assert [row.revoked_at is None for row in keys.list_keys(installation, LOCAL)] == [False]


def test_nobody_disables_or_enables_people_over_the_network(alone: Installation) -> None:
    admin = person(alone, "a@b.c", Role.ADMIN)
    for act in (people.disable_user, people.enable_user):
        with pytest.raises(AccessDenied):
            act(alone, "owner", admin)


def test_an_admin_gives_changes_and_takes_roles(installation: Installation) -> None:
    admin, other = person(installation, "a@b.c", Role.ADMIN), user(installation, "d@e.f", None)
    assert people.set_member(installation, "local", other, Role.VIEWER, admin).role == "viewer"
    assert people.set_member(installation, "local", other, "admin", admin).role == "admin"
    assert roles(installation)[other] == "admin"
    people.remove_member(installation, "local", other, admin)
    people.remove_member(installation, "local", other, admin)
    assert other not in roles(installation)


def test_a_role_that_is_not_known_is_refused(alone: Installation) -> None:
    with pytest.raises(InvalidRequest):
        people.set_member(alone, "local", "owner", "king", LOCAL)


def test_members_of_another_project_are_none_of_an_admin_s_business(alone: Installation) -> None:
    project, admin = other_project(alone), person(alone, "a@b.c", Role.ADMIN)
    acts: list[Callable[[], object]] = [
        lambda: people.set_member(alone, project, "owner", Role.ADMIN, admin),
        lambda: people.remove_member(alone, project, "owner", admin),
        lambda: people.members(alone, admin, project),
    ]
    for act in acts:
        with pytest.raises(ProjectAccessDenied):
            act()


@pytest.mark.parametrize(("project", "who"), [("none", "owner"), ("local", "none"), ("local", "\0")])
def test_a_membership_needs_its_project_and_its_person(alone: Installation, project: str, who: str) -> None:
    with pytest.raises(NotFound):
        people.set_member(alone, project, who, Role.VIEWER, LOCAL)


def test_members_are_listed_for_who_may_read(alone: Installation) -> None:
    viewer = person(alone, "a@b.c", Role.VIEWER)
    listed = [people.member_json(row) for row in people.members(alone, viewer)]
    assert [(one["name"], one["role"]) for one in listed] == [("Owner", "admin"), ("a@b.c", "viewer")]
    assert len(people.members(alone, LOCAL)) == 2
    with pytest.raises(AccessDenied):
        people.members(alone, person(alone, "d@e.f", None))
    with pytest.raises(NotFound):
        people.members(alone, LOCAL, "none")


def test_the_last_admin_stays_unless_this_machine_says_so(alone: Installation) -> None:
    project = other_project(alone)
    user_id = user(alone, "a@b.c", Role.ADMIN, project)
    admin = signed_in(alone, user_id)
    disabled = user(alone, "d@e.f", Role.ADMIN, project)
    people.disable_user(alone, disabled, LOCAL)
    for act in (
        lambda: people.remove_member(alone, project, user_id, admin),
        lambda: people.set_member(alone, project, user_id, Role.VIEWER, admin),
    ):
        with pytest.raises(StateConflict):
            act()
    people.remove_member(alone, project, user_id, LOCAL)
    assert list(roles(alone, project)) == [disabled]


def test_two_admins_who_remove_each_other_do_not_both_go(installation: Installation) -> None:
    project = other_project(installation)
    ids = [user(installation, f"{one}@b.c", Role.ADMIN, project) for one in "ab"]
    callers = [signed_in(installation, one) for one in ids]

    def remove(index: int) -> bool:
        try:
            people.remove_member(installation, project, ids[1 - index], callers[index])
        except EverloopError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(remove, range(2)))
    assert sum(done) == 1 and len(roles(installation, project)) == 1


def test_candidates_are_people_outside_the_project(alone: Installation) -> None:
    admin, other = person(alone, "a@b.c", Role.ADMIN), user(alone, "bob@b.c", None)
    assert [people.user_json(row)["user_id"] for row in people.candidates(alone, admin, "BOB")] == [other]
    assert people.candidates(alone, admin, "owner") == []
    for q in ("\0", "x" * 400):
        with pytest.raises(InvalidRequest):
            people.candidates(alone, admin, q)
    with pytest.raises(AccessDenied):
        people.candidates(alone, person(alone, "d@e.f", Role.VIEWER), "")


def test_single_sign_on_makes_a_person_once_and_keeps_them_up_to_date(installation: Installation) -> None:
    user_id = from_oidc(installation, "7", Role.VIEWER)
    assert from_oidc(installation, "7", Role.ADMIN, "C2@d.e") == user_id
    found = people.find(installation, user_id, LOCAL)
    assert (found.email, found.name, found.issuer, found.issuer_subject) == ("c2@d.e", "Cy", IDP, "7")
    assert roles(installation)[user_id] == "admin"
    since = people.members(installation, LOCAL)[-1].created_at
    from_oidc(installation, "7", Role.ADMIN)
    assert people.members(installation, LOCAL)[-1].created_at == since


def test_single_sign_on_without_a_role_ends_the_membership(installation: Installation) -> None:
    user_id = from_oidc(installation, "7", Role.ADMIN)
    key, _ = keys.create_key(installation, KeyRequest(), signed_in(installation, user_id))
    with pytest.raises(AccessDenied):
        from_oidc(installation, "7", None)
    assert user_id not in roles(installation)
    with pytest.raises(Unauthorized):
        access.authenticate(installation, key)


def test_single_sign_on_does_not_get_into_another_account_by_its_address(installation: Installation) -> None:
    own = user(installation, "c@d.e", Role.ADMIN)
    user_id = from_oidc(installation, "7", Role.VIEWER)
    assert user_id != own and people.find(installation, user_id, LOCAL).email is None
    assert roles(installation)[own] == "admin"


def test_single_sign_on_of_a_disabled_person_is_refused(alone: Installation) -> None:
    people.disable_user(alone, from_oidc(alone, "7", Role.ADMIN), LOCAL)
    with pytest.raises(AccessDenied):
        from_oidc(alone, "7", Role.ADMIN)


def test_single_sign_on_needs_no_address_and_no_name(alone: Installation) -> None:
    user_id = people.user_from_oidc(alone, IDP, "8", None, "\0", Role.VIEWER, "local")
    found = people.find(alone, user_id, LOCAL)
    assert (found.email, found.name) == (None, "Somebody")


@pytest.mark.parametrize(("issuer", "subject"), [("", "7"), (IDP, ""), (IDP, "x" * 257), (IDP, "\0"), ("x" * 513, "7")])
def test_single_sign_on_names_somebody(alone: Installation, issuer: str, subject: str) -> None:
    with pytest.raises(InvalidRequest):
        people.user_from_oidc(alone, issuer, subject, None, "", Role.VIEWER, "local")


def test_single_sign_on_needs_its_project(alone: Installation) -> None:
    with pytest.raises(NotFound, match="OIDC_PROJECT"):
        people.user_from_oidc(alone, IDP, "7", None, "", Role.VIEWER, "none")
    with alone.database.read() as tx:
        assert users.by_issuer(tx, IDP, "7") is None


def test_a_person_who_comes_twice_at_once_is_made_once(installation: Installation) -> None:
    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(lambda _: from_oidc(installation, "7", Role.VIEWER), range(8)))
    assert len(ids) == 1


def test_an_address_that_two_bring_at_once_goes_to_one(installation: Installation) -> None:
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda one: from_oidc(installation, str(one), Role.VIEWER), range(4)))
    addresses = [people.find(installation, one, LOCAL).email for one in ids]
    assert addresses.count("c@d.e") == 1 and addresses.count(None) == 3
