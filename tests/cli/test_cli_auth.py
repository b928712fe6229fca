"""``el auth``: nothing is saved that a server did not confirm, and no key is shown or sent astray."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pexpect
import pytest
from click.testing import CliRunner, Result
from remote_server import Answer, Asked, RealServer, StandIn

from everloop.cli.auth import shown
from everloop.cli.main import el
from everloop.client import resolve, saved
from everloop.service import grants
from everloop.service.caller import Caller
from everloop.service.permissions import ALL

Make = Callable[[Callable[[Asked], Answer]], StandIn]
KEY = "elk_0123456789ab_secretsecret"
GRANT = "0d3fbb0c-7c6d-4d5c-9d3a-2f4a0a6b8c1e"
ME = {
    "auth_method": "api_key",
    "subject": "key:0123456789ab",
    "workspace": {"workspace_id": "local"},
    "project": {"project_id": "demo", "workspace_id": "local"},
}


def call(*arguments: str, text: str | None = None, **environment: str) -> Result:
    return CliRunner().invoke(el, ["auth", *arguments], input=text, env=environment)


def confirming(asked: Asked) -> Answer:
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return 401, {"code": "UNAUTHORIZED", "message": "no"}, {}
    return 200, ME, {}


def test_a_key_is_saved_when_the_server_confirms_it(stand_in: Make) -> None:
    served = stand_in(confirming)
    assert call("config", "set", "base-url", f"{served.url}/v1").exit_code == 0
    result = call("config", "set", "api-key", "--stdin", text=f"{KEY}\n")
    assert result.stdout == "Saved. The key belongs to project demo.\n"
    assert saved.read() == saved.Saved(served.url, "local", "demo", KEY, served.url)
    assert resolve().api_key == KEY


def test_a_key_that_the_server_refuses_is_not_saved(stand_in: Make) -> None:
    call("config", "set", "base-url", stand_in(confirming).url)
    result = call("config", "set", "api-key", "--stdin", text="elk_wrong\n")
    assert result.exit_code == 1 and result.stderr.startswith("UNAUTHORIZED: ")
    assert saved.read().api_key is None and "elk_wrong" not in result.output


def test_a_key_of_a_signed_in_session_is_not_saved(stand_in: Make) -> None:
    call("config", "set", "base-url", stand_in(lambda _: (200, ME | {"auth_method": "session"}, {})).url)
    result = call("config", "set", "api-key", "--stdin", text=KEY)
    assert result.exit_code == 1 and result.stderr.startswith("AUTH_CHECK_UNCONFIRMED: ")
    assert saved.read().api_key is None


def test_a_key_may_be_saved_without_asking() -> None:
    call("config", "set", "base-url", "https://away.example")
    assert call("config", "set", "api-key", "--stdin", "--no-check", text=KEY).exit_code == 0
    assert resolve().api_key == KEY


@pytest.mark.parametrize(
    "wrong",
    [
        ["config", "set", "api-key", KEY],
        ["config", "set", "api-key"],
        ["config", "set", "base-url"],
        ["config", "set", "workspace", "w", "--stdin"],
        ["config", "set", "nothing", "x"],
        ["config"],
        ["login", "--timeout", "0"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_is_a_usage_error(wrong: list[str]) -> None:
    assert call(*wrong).exit_code == 2


def test_a_key_needs_a_base_url_first() -> None:
    result = call("config", "set", "api-key", "--stdin", text=KEY)
    assert result.exit_code == 1
    assert result.stderr.startswith("INVALID_RSI_REQUEST: no base URL is saved. ")
    assert "el auth config set base-url" in result.stderr


@pytest.mark.parametrize("field", ["base-url", "api-key", "workspace", "project"])
def test_what_was_not_saved_is_not_forgotten(field: str) -> None:
    result = call("config", "unset", field)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"No {field} is saved.\n")


def test_another_base_url_forgets_the_key_of_the_old_one() -> None:
    saved.write(saved.Saved("https://a.example", "w", "p", KEY, "https://a.example"))
    assert "forgotten" in call("config", "set", "base-url", "https://b.example").stderr
    assert saved.read() == saved.Saved("https://b.example")


def test_the_same_base_url_again_keeps_the_key() -> None:
    saved.write(saved.Saved("https://a.example", "w", "p", KEY, "https://a.example"))
    call("config", "set", "base-url", "https://a.example/v1/")
    assert saved.read().api_key == KEY


def test_workspace_and_project_are_set_and_unset() -> None:
    call("config", "set", "base-url", "https://a.example")
    call("config", "set", "workspace", "w1")
    call("config", "set", "project", "p:1")
    assert (resolve().workspace_id, resolve().project_id) == ("w1", "p:1")
    assert call("config", "set", "project", "p/1").exit_code == 1
    call("config", "unset", "project")
    assert resolve().project_id is None


def test_what_is_saved_is_shown_without_the_key(config_folder: Path) -> None:
    saved.write(saved.Saved("https://a.example", "w", "p", KEY, "https://a.example"))
    told = json.loads(call("config", "show", "--json").stdout)
    assert told == {
        "folder": str(config_folder),
        "base_url": "https://a.example",
        "workspace_id": "w",
        "project_id": "p",
        "api_key": "elk_0123456789ab_...",
    }
    assert "secretsecret" not in call("config", "show").stdout


@pytest.mark.parametrize(
    ("key", "seen"),
    [(None, None), (KEY, "elk_0123456789ab_..."), ("epk_" + "a" * 64, "epk_..."), ("plainsecret", "...")],
)
def test_only_the_public_part_of_a_key_is_shown(key: str | None, seen: str | None) -> None:
    assert shown(key) == seen


def test_status_tells_where_each_part_comes_from(stand_in: Make) -> None:
    served = stand_in(confirming)
    told = json.loads(call("status", "--json", ENVLOOP_BASE_URL=served.url, ENVLOOP_API_KEY=KEY).stdout)
    assert told == {
        "base_url": served.url,
        "base_url_from": "ENVLOOP_*",
        "api_key": "elk_0123456789ab_...",
        "api_key_from": "ENVLOOP_*",
        "workspace_id": None,
        "project_id": None,
    }
    assert served.asked == []


def test_a_check_asks_the_server(stand_in: Make) -> None:
    environment = {"EVERLOOP_BASE_URL": stand_in(confirming).url, "EVERLOOP_API_KEY": KEY}
    told = json.loads(call("status", "--check", "--json", **environment).stdout)
    assert (told["check"], told["project_id"], told["subject"]) == ("ok", "demo", "key:0123456789ab")


@pytest.mark.parametrize(
    ("status", "word"), [(401, "authentication_rejected"), (403, "authorization_denied"), (500, "unreachable")]
)
def test_a_failed_check_is_one_document_and_exit_code_1(status: int, word: str, stand_in: Make) -> None:
    served = stand_in(lambda _: (status, {"code": "UNAUTHORIZED", "message": "no"}, {}))
    result = call("status", "--check", "--json", EVERLOOP_BASE_URL=served.url, EVERLOOP_API_KEY=KEY)
    assert result.exit_code == 1 and json.loads(result.stdout)["check"] == word


def test_logout_forgets_the_key_and_keeps_the_server() -> None:
    saved.write(saved.Saved("https://a.example", "w", "p", KEY, "https://a.example"))
    assert call("logout").stdout == "The saved key is forgotten.\n"
    assert call("logout").stdout == "No key was saved.\n"
    assert saved.read() == saved.Saved("https://a.example")


class Granting:
    """A server of `login`: it approves at the third poll, and knows the key by its hash alone."""

    def __init__(self, status: str = "approved", uri: str | None = None, project: str = "demo") -> None:
        self.status, self.uri, self.project = status, uri, project
        self.polls = 0
        self.hashes: dict[str, object] = {}
        self.url = ""

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == "/v1/auth/cli/start":
            assert "authorization" not in asked.headers
            self.hashes = asked.json
            page = self.uri or f"{self.url}/sign-in?cli_login={GRANT}"
            return 200, {"grant_id": GRANT, "verification_uri": page, "interval": 0.1, "expires_in": 600}, {}
        if asked.path == "/v1/auth/cli/poll":
            return self._poll(asked)
        if asked.path == "/v1/me":
            key = asked.headers["authorization"].removeprefix("Bearer ")
            assert hashlib.sha256(key.encode()).hexdigest() == self.hashes["key_hash"]
            return 200, ME, {}
        return 200, {"status": "cancelled"}, {}

    def _poll(self, asked: Asked) -> Answer:
        token = str(asked.json["poll_token"])
        assert hashlib.sha256(token.encode()).hexdigest() == self.hashes["poll_hash"]
        self.polls += 1
        if self.polls == 1:
            return 503, {"code": "SERVICE_UNAVAILABLE", "message": "away"}, {}
        if self.polls == 2:
            return 200, {"status": "pending"}, {}
        scope = {"workspace_id": "local", "project_id": self.project} if self.status == "approved" else {}
        return 200, {"status": self.status, **scope}, {}


def signed_in(stand_in: Make, granting: Granting, *more: str) -> tuple[Result, StandIn]:
    served = stand_in(granting)
    granting.url = served.url
    return call("login", "--base-url", served.url, "--no-browser", *more), served


def test_signing_in_saves_a_key_that_only_its_hash_was_sent_of(stand_in: Make) -> None:
    granting = Granting()
    result, served = signed_in(stand_in, granting)
    assert result.exit_code == 0, result.output
    lines = dict(line.split(": ", 1) for line in result.stdout.splitlines()[:3])
    assert parse_qs(urlsplit(lines["Open"]).query) == {"cli_login": [GRANT]}
    assert hashlib.sha256(lines["Code"].encode()).hexdigest() == granting.hashes["code_hash"]
    kept = saved.read()
    assert kept.api_key is not None and kept.api_key.startswith("epk_") and len(kept.api_key) == 68
    assert (kept.base_url, kept.workspace_id, kept.project_id) == (served.url, "local", "demo")
    assert kept.api_key not in result.output
    assert not any(kept.api_key.encode() in asked.body for asked in served.asked)


@pytest.mark.parametrize("status", ["denied", "cancelled"])
def test_a_sign_in_that_is_not_let_in_saves_nothing(status: str, stand_in: Make) -> None:
    result, served = signed_in(stand_in, Granting(status))
    assert result.exit_code == 1 and result.stderr.startswith("AUTH_LOGIN_DENIED: ")
    assert saved.read() == saved.Saved()
    assert served.asked[-1].path == "/v1/auth/cli/cancel"


def test_a_sign_in_that_nobody_answers_is_taken_back(stand_in: Make) -> None:
    result, served = signed_in(stand_in, Granting("pending"), "--timeout", "1")
    assert result.exit_code == 1 and result.stderr.startswith("AUTH_LOGIN_EXPIRED: ")
    assert served.asked[-1].path == "/v1/auth/cli/cancel"


def test_a_key_of_another_project_than_was_let_in_is_not_saved(stand_in: Make) -> None:
    result, _ = signed_in(stand_in, Granting(project="other"))
    assert result.exit_code == 1 and result.stderr.startswith("AUTH_CHECK_UNCONFIRMED: ")
    assert saved.read() == saved.Saved()


@pytest.mark.parametrize(
    "uri",
    [
        f"https://evil.example/sign-in?cli_login={GRANT}",
        "http://127.0.0.1:1/sign-in?cli_login=" + GRANT,
        "javascript:alert(1)",
        "\x1b[2J",
    ],
)
def test_a_page_of_another_server_is_not_shown(uri: str, stand_in: Make) -> None:
    result, _ = signed_in(stand_in, Granting(uri=uri))
    assert result.exit_code == 1 and result.stderr.startswith("INVALID_RESPONSE: ")
    assert uri not in result.output


def test_the_dialogue_asks_on_a_terminal_without_echoing_the_key(stand_in: Make) -> None:
    served = stand_in(confirming)
    environment = {**os.environ, "TERM": "dumb"}
    child = pexpect.spawn(
        sys.executable, ["-m", "everloop.cli.main", "auth", "config"], env=environment, encoding="utf-8", timeout=30
    )
    child.expect("Base URL: ")
    child.sendline(served.url)
    child.expect("API key: ")
    child.sendline(KEY)
    child.expect("The key belongs to project demo")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert saved.read().api_key == KEY


def test_a_real_server_confirms_a_real_key(server: RealServer) -> None:
    key = server.key()
    call("config", "set", "base-url", server.url)
    assert call("config", "set", "api-key", "--stdin", text=key).stdout.endswith("project local.\n")
    told = json.loads(call("status", "--check", "--json").stdout)
    assert (told["check"], told["api_key_from"], told["project_id"]) == ("ok", "saved", "local")


def test_a_person_lets_the_command_line_into_a_real_server(server: RealServer) -> None:
    environment = {**os.environ, "TERM": "dumb"}
    arguments = ["-m", "everloop.cli.main", "auth", "login", "--no-browser", "--base-url", server.url]
    child = pexpect.spawn(sys.executable, arguments, env=environment, encoding="utf-8", timeout=30)
    child.expect(r"cli_login=(\S+)")
    grant = child.match.group(1)
    child.expect(r"Code: (\w+)")
    grants.approve(server.installation, grant, child.match.group(1), OWNER)
    child.expect("Signed in")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    told = json.loads(call("status", "--check", "--json").stdout)
    assert (told["check"], told["base_url"], told["api_key"]) == ("ok", server.url, "epk_...")


OWNER = Caller(subject="user:owner", permissions=ALL, method="session")
"""The person a new installation starts with, signed in."""
