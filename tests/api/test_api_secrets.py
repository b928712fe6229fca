"""Secrets of a real installation: after starts, refusals, sign-ins, downloads and faults none of them lies about."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest
from calling import Api, session_cookie
from served import Served

from everloop import console, tokens
from everloop.api.redaction import redacted
from everloop.errors import Unauthorized
from everloop.service import people, sessions
from everloop.service.caller import LOCAL

PASSWORD = "a-password-nobody-else-has-7391"
WRONG = "a-wrong-password-nobody-has-2204"
MODEL_KEY = "sk-model-0123456789abcdef0123456789abcdef"
MCP = "/v1/agent-runs/rsi/mcp"
RUNS = "/v1/agent-runs/rsi/runs"
CONTENT = "/v1/job/checkpoints/content/"
ROWS = [{"family": "s1", "prompt": f"s1:{number}", "completion": "7"} for number in range(4)]
JOB = {"type": "train", "spec": {"base_model": "synthetic-job", "rows": ROWS, "steps": 3}}
FIELD = re.compile(r'name="form_token" value="([^"]+)"')


@dataclass
class Visited:
    """A server that much was asked of, and every secret that was part of it, by what it is."""

    server: Served
    secrets: dict[str, str] = field(default_factory=dict)
    answers: list[str] = field(default_factory=list)
    """What came back that should repeat no secret."""

    def keep(self, name: str, secret: str) -> str:
        assert len(secret) > 20
        self.secrets[name] = secret
        return secret

    def found(self, text: str, *, but: tuple[str, ...] = ()) -> list[str]:
        """Names of the secrets in a text."""
        return [name for name, secret in self.secrets.items() if name not in but and secret in text]

    def refused(self, status: int, method: str, path: str, key: str = "", **more: str) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        answer = httpx2.request(method, self.server.url + path, headers=headers | more, trust_env=False, timeout=30)
        assert answer.status_code == status, answer.text
        self.answers.append(f"{answer.headers}{answer.text}")


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visited]:
    home = tmp_path_factory.mktemp("secrets") / "home"
    home.mkdir(mode=0o700)
    with Served(home, workers=0) as first:
        before = first.key, first.link
    with telltale() as provider, Served(home) as server:
        found = Visited(server)
        found.keep("key of the first el up", before[0])
        found.keep("link of the first el up", token_in(before[1]))
        found.keep("key of el up", server.key)
        _keys(found)
        _people(found)
        _model(found, provider)
        _downloads(found)
        _mcp(found)
        yield found


class _Telltale(BaseHTTPRequestHandler):
    """Refuses every key and says it aloud, as providers do."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        error = {"message": f"Incorrect API key provided: {self.headers['authorization']}", "type": "auth"}
        body = json.dumps({"error": error}).encode()
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def telltale() -> Iterator[str]:
    """The address of a model provider that repeats the key it refuses."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Telltale) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def token_in(link: str) -> str:
    return link.partition("token=")[2]


def _keys(found: Visited) -> None:
    """Keys that are good, unknown, revoked, given in a path, of a client's own making."""
    server = found.server
    key = found.keep("automation key", json.loads(server.el("key", "create", "--json"))["key"])
    revoked = found.keep("revoked key", json.loads(server.el("key", "create", "--json"))["key"])
    server.el("key", "revoke", revoked)
    assert server.get(RUNS, key=key).status_code == 200
    unknown = found.keep("unknown key", tokens.mint(tokens.API).key)
    for bad in (revoked, unknown, found.keep("a client's own key", "epk_" + "5a" * 32)):
        found.refused(401, "GET", RUNS, bad)
        found.refused(401, "POST", RUNS, bad)
        found.refused(404, "POST", f"/v1/nothing/{bad}", bad)
    found.refused(403, "DELETE", f"/v1/workspaces/local/projects/local/keys/{key}", key)
    found.refused(401, "DELETE", f"/v1/workspaces/local/projects/local/keys/{key}")
    found.refused(401, "GET", RUNS, Authorization=f"Basic {key}")


def _people(found: Visited) -> None:
    """Sessions begun by link and by password, and what a browser may not do with them."""
    server = found.server
    server.el("member", "add", "ada@example.org", "--role", "admin", "--password-stdin", text=PASSWORD + "\n")
    found.secrets |= {"password": PASSWORD, "wrong password": WRONG}
    link = found.keep("link", token_in(server.link))
    unused = found.keep("unused link", token_in(server.el("member", "link", "ada@example.org").strip()))
    for method, path in (("GET", f"/sign-in/link?token={unused}"), ("POST", f"/sign-in/link?token={unused}")):
        found.answers.append(str(server.request(method, path, key="").headers))
    with server.installation() as opened:
        found.keep("session by link", sessions.use_link(opened, link))
        session = found.keep("session by password", sessions.sign_in(opened, "ada@example.org", PASSWORD)[0])
        with pytest.raises(Unauthorized):
            sessions.sign_in(opened, "ada@example.org", WRONG)
    assert server.request("GET", RUNS, key="").status_code == 401
    foreign = {"Cookie": session_cookie(server.url, session), "Origin": "https://elsewhere.example"}
    found.refused(403, "POST", RUNS, **foreign)
    found.refused(401, "GET", RUNS, Cookie=session_cookie(server.url, session + "x"))


def _model(found: Visited, url: str) -> None:
    """A run whose model refuses its key."""
    found.secrets["model key"] = MODEL_KEY
    words = ("--model", "m", "--base-url", url, "--for", "student", "--input-price", "1", "--output-price", "1")
    found.server.el("model", "add", "refusing", *words, "--key-stdin", text=MODEL_KEY + "\n")
    limits = {"model_usd_cap": 1, "diag_per_family": 4, "dev_n": 60, "admission_n": 16, "eval_limit": 240}
    body = {"run": "refused-1", "brief": "x", "domain": "synthetic", "rounds": 1, "dry_run": True, "limits": limits}
    started = found.server.post(RUNS, body)
    assert started.status_code == 201, started.text
    _until(lambda: found.server.get(f"{RUNS}/refused-1").json()["error"])


def _downloads(found: Visited) -> None:
    """A job, addresses of its files: used, spoilt, asked with other methods and names, and broken inside."""
    server, jobs = found.server, []
    for _ in range(2):
        jobs.append(server.post("/v1/job", JOB).json()["job_id"])
    for job in jobs:
        _until(lambda job=job: server.get(f"/v1/job/{job}").json()["status"] == "completed")  # type: ignore[misc]
        path = "ckpt_" + job.removeprefix("job_")
        urls = server.get(f"/v1/job/checkpoints/download?path={path}").json()["urls"]
        for name, url in urls.items():
            token = found.keep(f"address of {name} of {job}", urlsplit(url).path.rpartition("/")[2])
            assert server.get(CONTENT + token, key="").status_code == 200
            found.refused(403, "GET", CONTENT + token + "x")
            found.refused(403, "GET", CONTENT + token, Host="elsewhere.example")
            found.refused(405, "DELETE", CONTENT + token)
            found.refused(405, "POST", "/api" + CONTENT + token)
    with closing(sqlite3.connect(server.home / "everloop.db", timeout=30)) as database, database:
        database.execute("UPDATE jobs SET spec = ? WHERE job_id = ?", ('"none"', jobs[1]))  # what nobody foresaw
    found.refused(500, "GET", CONTENT + token)
    found.refused(500, "GET", f"/v1/job/{jobs[1]}", server.key)


def _mcp(found: Visited) -> None:
    """A tool called with a good key and with bad ones."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rsi_list_runs", "arguments": {}}}
    names = {"automation key": 200, "revoked key": 401, "unknown key": 401}
    for name, status in names.items():
        headers = {"Authorization": f"Bearer {found.secrets[name]}", "Accept": "application/json, text/event-stream"}
        answer = httpx2.post(found.server.url + MCP, json=call, headers=headers, trust_env=False, timeout=30)
        assert answer.status_code == status
        found.answers.append(answer.text)


def _until(test: Callable[[], object], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


def test_no_answer_to_a_refused_request_repeats_a_secret(visited: Visited) -> None:
    assert visited.found("\n".join(visited.answers)) == []


def test_no_log_holds_one(visited: Visited) -> None:
    server = (visited.server.home / "server.log").read_text()
    assert f"GET {CONTENT}..." in server, "nothing broke"
    assert visited.found(server) == []
    assert visited.found((visited.server.home / "worker.log").read_text()) == []


def test_the_screen_shows_the_one_time_link_alone(visited: Visited) -> None:
    shown = visited.server.output.read_text()
    assert visited.found(shown) == ["link of the first el up", "link"]


def test_a_sign_in_by_the_pages_leaves_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Api(tmp_path / "home") as api, caplog.at_level(logging.DEBUG, "everloop"):
        if not any(getattr(route, "path", "") == "/sign-in" for route in api.app.router.routes):
            api.app.router.routes.extend(console.routes(api.place))
        people.create_user(api.place, "ada@example.org", "Ada", PASSWORD, LOCAL)
        link = sessions.make_link(api.place, "owner")
        given = [PASSWORD, WRONG, link]
        given += _signed_in(api, f"/sign-in/link?token={link}", {"token": link})
        given += _signed_in(api, "/sign-in", {"email": "ada@example.org", "password": PASSWORD})
        kept = _dumped(api.place.home.root)
    assert len(given) == 5 and "POST /sign-in" in kept
    assert [secret for secret in given if secret in kept + caplog.text] == []


def _signed_in(api: Api, path: str, fields: dict[str, str]) -> list[str]:
    """Send the form of a page, with a wrong password or token first; the token of the session."""
    with httpx2.Client(base_url=api.url, trust_env=False, timeout=30) as browser:
        form = {"form_token": FIELD.findall(browser.get(path).text)[0], **fields}
        post = path.partition("?")[0]
        secret = "token" if "token" in fields else "password"
        wrong = browser.post(post, data=form | {secret: WRONG}, headers={"Origin": api.url})
        assert wrong.status_code == 401 and WRONG not in wrong.text
        assert browser.post(post, data=form, headers={"Origin": api.url}).status_code == 303
        return [browser.cookies[session_cookie(api.url, "").rstrip("=")]]


def _dumped(home: Path) -> str:
    """Every row of the database."""
    with closing(sqlite3.connect(home / "everloop.db", timeout=30)) as database:
        return "\n".join(database.iterdump())


def test_no_table_holds_one(visited: Visited) -> None:
    text = _dumped(visited.server.home)
    assert "/v1/job/checkpoints/content/..." in text, "no refused address was recorded"
    assert "Incorrect API key provided" in text, "no refusal of the provider was recorded"
    assert visited.found(text) == []


def test_files_that_hold_a_secret_are_for_their_owner_alone(visited: Visited) -> None:
    kept, home = {}, visited.server.home
    for path in home.parent.rglob("*"):
        if path.is_file() and path != visited.server.output:
            found = visited.found(path.read_bytes().decode("latin-1"))
            if found:
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
                kept[path.relative_to(home.parent).parts] = found
    ready = f"{home.name}-ready.json"
    (model_key,) = (parts for parts in kept if "keys" in parts)
    assert kept == {
        (home.name, "connection.json"): ["key of el up"],
        (ready,): ["key of el up"],
        model_key: ["model key"],
    }
    assert stat.S_IMODE(Path(home, "keys").stat().st_mode) == 0o700


def test_no_process_has_one_in_its_command_line_or_environment(visited: Visited) -> None:
    up = psutil.Process(visited.server.process.pid)
    family = [up, *up.children(recursive=True)]
    assert len(family) >= 3
    for process in family:
        told = " ".join(process.cmdline()) + json.dumps(process.environ())
        assert visited.found(told) == [], process.cmdline()


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/v1/job/checkpoints/content/abc.def", "/v1/job/checkpoints/content/..."),
        ("/api/v1/job/checkpoints/content/abc/def", "/api/v1/job/checkpoints/content/..."),
        ("/keys/elk_0123456789ab_abc-_DEF", "/keys/elk_0123456789ab_..."),
        ("/keys/0123456789ab", "/keys/0123456789ab"),
        ("/x/epk_" + "0" * 64 + "/y", "/x/epk_.../y"),
        ("/v1/agent-runs/rsi/runs/arith-1", "/v1/agent-runs/rsi/runs/arith-1"),
    ],
)
def test_an_address_is_written_down_without_its_secret(path: str, written: str) -> None:
    assert redacted(path) == written
