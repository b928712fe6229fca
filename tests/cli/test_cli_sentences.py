"""A refusal is told in our own words: never in the server's, whatever it says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner, Result
from remote_server import Answer, Asked, StandIn

from everloop.cli import sentences
from everloop.cli.main import el

Make = Callable[[Callable[[Asked], Answer]], StandIn]
MARK = "elk_SECRET-marker-of-the-server"

COMMANDS = (
    ("job", "run", "list"),
    ("job", "run", "get", "r"),
    ("job", "run", "round", "r", "1"),
    ("job", "run", "start", "r", "--brief", "b", "--model-usd-cap", "1"),
    ("job", "run", "live", "r"),
    ("job", "run", "live", "r", "--follow"),
    ("job", "run", "steer", "r", "t"),
    ("job", "run", "directive", "r", "t"),
    ("job", "run", "stop", "r"),
    ("job", "run", "resume", "r"),
    ("job", "run", "extend", "r", "--rounds", "2"),
    ("job", "list"),
    ("job", "get", "j"),
    ("job", "result", "j"),
    ("job", "log", "j"),
    ("job", "log", "j", "--follow"),
    ("job", "stop", "j"),
    ("checkpoint", "list"),
    ("checkpoint", "download", "c", "d"),
    ("auth", "status", "--check"),
    ("auth", "login", "--no-browser"),
)


def call(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(el, arguments, env={"EVERLOOP_BASE_URL": url, "EVERLOOP_API_KEY": "elk_a_b"})


@pytest.fixture(scope="module")
def refusing() -> Iterator[StandIn]:
    served = StandIn(lambda _: (403, {"code": "ACCESS_DENIED", "message": MARK}, {}))
    yield served
    served.close()


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["", "json"])
def test_no_command_shows_the_servers_message(
    refusing: StandIn, arguments: tuple[str, ...], more: tuple[str, ...]
) -> None:
    plain = {("job", "get"), ("job", "result"), ("job", "stop"), ("auth", "login")}
    result = call(refusing.url, *arguments, *(() if arguments[:2] in plain else more))
    assert result.exit_code == 1, result.output
    assert "ACCESS_DENIED: This key may not do that. (HTTP 403)\n" in result.stderr
    assert "marker" not in result.output


STATUSES = (301, 400, 401, 402, 403, 404, 405, 409, 410, 413, 418, 422, 429, 500, 502, 503)
BODIES: tuple[object, ...] = (
    {"code": "MARKER", "message": MARK},
    {"code": MARK, "message": MARK},
    {"error": {"code": "X", "message": MARK}},
    {"detail": MARK},
    {"code": "CONFLICT", "message": MARK * 1000},
    MARK.encode(),
    b"\xff\xfe" + MARK.encode(),
    b"[" * 100_000 + MARK.encode(),
    b"",
)


@pytest.mark.parametrize(
    ("status", "body"),
    [*((status, BODIES[0]) for status in STATUSES), *((409, body) for body in BODIES[1:])],
    ids=lambda value: str(value)[:24],
)
def test_an_answer_that_is_no_envelope_shows_nothing_of_itself(status: int, body: object, stand_in: Make) -> None:
    served = stand_in(lambda _: (status, body, {"Location": f"http://127.0.0.1/{MARK}"}))
    result = call(served.url, "job", "get", "j")
    assert result.exit_code == {404: 3, 409: 4}.get(status, 1)
    assert result.stderr.startswith("HTTP_ERROR: ") and f"(HTTP {status})" in result.stderr
    assert "marker" not in result.output.lower()
    assert len(result.stderr.splitlines()) == 2
    assert len(served.asked) == 1, "a redirect is not followed"


@pytest.mark.parametrize("body", [MARK.encode(), b"[1]", b"", b"\xff", b'{"a": NaN'], ids=str)
def test_a_good_status_with_a_bad_body_is_no_traceback(body: bytes, stand_in: Make) -> None:
    result = call(stand_in(lambda _: (200, body, {})).url, "job", "get", "j")
    assert result.exit_code == 1 and result.stderr.startswith("INVALID_RESPONSE: ")
    assert "marker" not in result.output


def test_an_endless_answer_is_not_read_to_its_end(stand_in: Make) -> None:
    result = call(stand_in(lambda _: (200, b" " * (17 * 1024 * 1024), {})).url, "job", "get", "j")
    assert result.exit_code == 1 and result.stderr.startswith("INVALID_RESPONSE: ")


def test_a_server_that_is_not_there_is_told_so() -> None:
    result = call("http://127.0.0.1:1", "job", "run", "list")
    assert result.exit_code == 1
    assert result.stderr.startswith("NETWORK_ERROR: The server does not answer.\n")


@pytest.mark.parametrize("code", sorted(sentences._SAID))
def test_each_code_has_a_sentence_and_what_to_do(code: str) -> None:
    first, then = sentences.told(code, 400).splitlines()
    assert first.startswith(f"{code}: ") and first.endswith(". (HTTP 400)") and then.endswith((".", ")"))


@pytest.mark.parametrize(("command", "code"), sorted(sentences.OF_COMMAND), ids=str)
def test_each_hint_is_of_a_command_and_a_code_that_are_there(command: str, code: str) -> None:
    words = command.removesuffix(" --dry-run").split()
    assert CliRunner().invoke(el, [*words, "--help"]).exit_code == 0 and code in sentences._SAID
    first, then = sentences.told(code, 400, command).splitlines()
    assert first.endswith(". (HTTP 400)") and then.endswith(".") and f"{code}: " in first


def test_every_code_of_the_wire_contract_has_a_sentence() -> None:
    from everloop.api.envelope import KNOWN

    assert KNOWN - set(sentences._SAID) == set()


def test_json_of_a_list_is_one_document(stand_in: Make) -> None:
    served = stand_in(lambda _: (200, {"items": [{"run": "r"}], "next_cursor": None}, {}))
    assert json.loads(call(served.url, "job", "run", "list", "--json").stdout) == {"items": [{"run": "r"}]}
