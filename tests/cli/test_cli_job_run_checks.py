"""What no server accepts is not sent, and a refusal speaks of the command."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result
from remote_server import RealServer

from everloop.cli.main import el


def call(server: RealServer, *arguments: str, key: str | None = None, text: str | None = None) -> Result:
    return CliRunner().invoke(el, ["job", "run", *arguments], env=server.environment(key), input=text)


@pytest.mark.parametrize(
    ("wrong", "option"),
    [
        (["Bad_Id", "--brief", "b"], "RUN"),
        (["x" * 65, "--brief", "b"], "RUN"),
        (["x", "--brief", " "], "--brief"),
        (["x", "--brief", "b" * 4001], "--brief"),
        (["x", "--brief", "b", "--limit", "nonsense=1"], "--limit nonsense"),
        (["x", "--brief", "b", "--limit", "dev_n=0"], "--limit dev_n"),
        (["x", "--brief", "b", "--limit", "dev_n=1.5"], "--limit dev_n"),
        (["x", "--brief", "b", "--usd-cap", "1e300"], "--usd-cap"),
        (["x", "--brief", "b", "--option", "nonsense=1"], "--option"),
        (["x", "--brief", "b", "--option", "seed=-1"], "--option seed"),
        (["x", "--brief", "b", "--dry-run", "--option", "trainer=nano"], "--option trainer"),
        (["x", "--brief", "b", "--goal", "all=2"], "--goal"),
        (["x", "--brief", "b", "--rounds", "1001"], "--rounds"),
        (["x", "--brief", "b", "--student-model", "m"], "--student-model"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else value,
)
def test_what_no_server_accepts_is_not_sent_and_names_its_option(wrong: list[str], option: str) -> None:
    arguments = ["job", "run", "start", *wrong, "--model-usd-cap", "1"]
    result = CliRunner().invoke(el, arguments, env={"EVERLOOP_BASE_URL": "http://127.0.0.1:1"})
    assert result.exit_code == 2 and option in result.stderr and "NETWORK_ERROR" not in result.stderr


def test_what_is_checked_before_sending_is_what_the_server_checks() -> None:
    from everloop.cli import job_run_checks as here
    from everloop.service import request as there

    assert here.RUN == there._RUN
    assert (here.BRIEF, here.OPTIONS) == (there.BRIEF, there._OPTIONS)


def test_a_dry_run_without_a_student_model_says_how_to_get_one(server: RealServer) -> None:
    result = call(server, "start", "dry", "--brief", "b", "--model-usd-cap", "1", "--domain", "sums", "--dry-run")
    assert result.exit_code == 1
    assert "el model serve-local --register" in result.stderr and "el model add NAME --for student" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "then"),
    [
        (["round", "hinted", "9"], "See its rounds: `el job run get RUN`."),
        (["resume", "hinted"], "el job run extend"),
        (["stop", "hinted"], "Only a run that has not ended can be stopped."),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_refusal_speaks_of_the_command(server: RealServer, arguments: list[str], then: str) -> None:
    if call(server, "get", "hinted").exit_code:
        server.run("hinted", state="finished")
    assert then in call(server, *arguments).stderr
