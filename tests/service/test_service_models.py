from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic_ai import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from scripted import Reply, ScriptedServer

from everloop.errors import EverloopError, InvalidRequest, ModelNotConfigured, ModelRefused, ModelUnavailable
from everloop.gateway.base import KeySource, ModelEntry, Use
from everloop.gateway.entries import document_of, entry_of
from everloop.gateway.memory_account import MemoryAccount
from everloop.paths import Home
from everloop.service import models
from everloop.service.installation import Installation
from everloop.settings import Settings
from everloop.store.database import Database

KEY = "sk-test-0123456789-not-for-others"
FREE = ModelEntry(
    name="local",
    provider="openai",
    model="scripted",
    base_url="http://127.0.0.1:1/v1",
    uses=(Use.STUDENT, Use.OPERATOR),
    input_usd_per_mtok=0.0,
    output_usd_per_mtok=0.0,
    settings={"temperature": 0.5, "stop_sequences": ["\n"]},
)
NOTHING = ModelRequestParameters()
KEYED = replace(FREE, name="keyed", key_source=KeySource.FILE)


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    home = Home(tmp_path / "home").create()
    return Installation(Settings(home=home.root, database_url=database.url, model_retries=0), database, home)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda _: Reply("ready", input_tokens=20, output_tokens=3)) as running:
        yield running


def test_a_model_is_found_as_it_was_added(installation: Installation) -> None:
    assert models.add(installation, FREE, None) == FREE
    assert models.find(installation, "local") == FREE


def test_a_document_gives_the_entry_again() -> None:
    assert entry_of(document_of(KEYED)) == KEYED


def test_models_are_listed_as_they_were_added_and_a_replaced_one_keeps_its_place(installation: Installation) -> None:
    for name in ("b", "a", "c"):
        models.add(installation, replace(FREE, name=name), None)
    changed = models.add(installation, replace(FREE, name="b", model="another"), None)
    assert [entry.name for entry in models.listing(installation)] == ["b", "a", "c"]
    assert models.listing(installation)[0] == changed


def test_the_default_of_a_use_is_the_first_that_was_added_for_it(installation: Installation) -> None:
    assert models.default_for(installation, Use.AUDITOR) is None
    for name, uses in (("x", (Use.STUDENT,)), ("y", (Use.AUDITOR, Use.STUDENT)), ("z", (Use.AUDITOR,))):
        models.add(installation, replace(FREE, name=name, uses=uses), None)
    found = {use: models.default_for(installation, use) for use in Use}
    assert {use: entry and entry.name for use, entry in found.items()} == {
        Use.STUDENT: "x",
        Use.AUDITOR: "y",
        Use.OPERATOR: None,
        Use.CANDIDATE: None,
    }


def test_an_unknown_name_is_answered_with_the_known_ones(installation: Installation) -> None:
    with pytest.raises(ModelNotConfigured, match="no model is configured"):
        models.find(installation, "gpt")
    models.add(installation, FREE, None)
    for ask in (models.find, models.remove, models.test):
        with pytest.raises(ModelNotConfigured, match="no model 'gpt': configured are: local"):
            ask(installation, "gpt")


def test_a_removed_model_is_gone_with_its_key(installation: Installation) -> None:
    file = installation.home.root / "keys" / models.add(installation, KEYED, KEY).key_name
    assert file.read_text() == f"{KEY}\n"
    models.remove(installation, "keyed")
    assert models.listing(installation) == []
    assert not file.exists()


def test_a_key_is_kept_in_a_file_of_its_own_and_nowhere_else(
    installation: Installation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    entry = models.add(installation, KEYED, KEY)
    assert models.secret(installation, entry) == KEY
    file = installation.home.root / "keys" / entry.key_name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    holders = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holders == [file]
    with installation.database.read() as tx:
        assert KEY not in repr(tx.execute(sa.text("SELECT * FROM models")).all())
    assert KEY not in repr((entry, document_of(entry), models.listing(installation)))
    assert KEY not in caplog.text


def test_a_replaced_model_keeps_no_key_that_it_no_longer_names(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.add(installation, KEYED, KEY)
    # Another endpoint must not be sent the key of the first.
    models.add(installation, replace(KEYED, key_source=KeySource.NONE, base_url="http://127.0.0.1:2/v1"), None)
    assert list((installation.home.root / "keys").iterdir()) == []
    named = models.add(installation, replace(KEYED, key_source=KeySource.ENVIRONMENT, key_name="ACME_KEY"), None)
    monkeypatch.setenv("ACME_KEY", KEY)
    assert models.secret(installation, named) == KEY


def test_an_entry_never_finds_the_key_of_the_one_that_replaced_it(installation: Installation) -> None:
    old = models.add(installation, KEYED, "key-of-a")
    new = models.add(installation, replace(KEYED, base_url="http://127.0.0.1:2/v1"), "key-of-b")
    assert models.secret(installation, new) == "key-of-b"
    with pytest.raises(ModelNotConfigured, match="has no key"):
        models.secret(installation, old)
    assert [file.name for file in (installation.home.root / "keys").iterdir()] == [new.key_name]


def test_a_model_that_cannot_be_stored_keeps_its_entry_and_its_key(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = models.add(installation, KEYED, "key-of-a")

    def broken(*_: object) -> None:
        raise OSError("the database went away")

    with monkeypatch.context() as patched:
        patched.setattr(models.models, "put", broken)
        with pytest.raises(OSError, match="went away"):
            models.add(installation, replace(KEYED, base_url="http://127.0.0.1:2/v1"), "key-of-b")
    assert models.find(installation, "keyed") == old
    assert models.secret(installation, old) == "key-of-a"
    assert [file.name for file in (installation.home.root / "keys").iterdir()] == [old.key_name]


def test_the_key_of_another_endpoint_is_sent_to_neither(local: Installation) -> None:
    def auth(of: ScriptedServer) -> list[str]:
        return [request.headers["authorization"] for request in of.requests]

    with ScriptedServer(lambda _: Reply(fault="401")) as first, ScriptedServer() as second:
        models.add(local, replace(KEYED, base_url=first.url), "key-of-a")
        with models.open_gateway(local) as gateway:
            model = gateway.model("keyed", MemoryAccount(), "k")
            models.add(local, replace(KEYED, base_url=second.url), "key-of-b")
            for _ in range(3):
                with pytest.raises((ModelRefused, ModelNotConfigured)):
                    gateway.run(lambda: model.request([ModelRequest.user_text_prompt("hi")], None, NOTHING))
    assert "Bearer key-of-b" not in auth(first)
    assert auth(second) == []


def test_a_refused_model_leaves_nothing_behind(installation: Installation) -> None:
    with pytest.raises(InvalidRequest):
        models.add(installation, replace(KEYED, max_tokens=0), KEY)
    with pytest.raises(InvalidRequest):
        models.add(installation, KEYED, "two words")
    assert models.listing(installation) == []
    assert not (installation.home.root / "keys").exists()


def test_a_key_and_its_source_must_agree(installation: Installation) -> None:
    with pytest.raises(InvalidRequest, match="none was given"):
        models.add(installation, KEYED, None)
    with pytest.raises(InvalidRequest, match="a key was given") as caught:
        models.add(installation, FREE, KEY)
    assert KEY not in str(caught.value)


def test_a_price_of_the_list_is_enough(installation: Installation) -> None:
    listed = ModelEntry(name="big", provider="anthropic", model="claude-sonnet-4-5")
    assert models.add(installation, listed, None).input_usd_per_mtok is None


def test_a_model_without_a_known_price_is_refused_with_the_remedy(installation: Installation) -> None:
    unpriced = replace(FREE, input_usd_per_mtok=None, output_usd_per_mtok=None)
    with pytest.raises(ModelNotConfigured, match="no known price") as caught:
        models.add(installation, unpriced, None)
    assert "--input-price" in caught.value.then
    assert "--output-price" in caught.value.then
    assert models.listing(installation) == []


REFUSED: list[tuple[str, Any, str]] = [
    ("name", "", "the name"),
    ("name", "Upper", "the name"),
    ("name", "a..b", "the name"),
    ("name", "../up", "the name"),
    ("name", "x" * 65, "the name"),
    ("provider", "no-such", "the provider"),
    ("model", " ", "the model's id"),
    ("model", "a\nb", "the model's id"),
    ("base_url", "127.0.0.1:8000/v1", "http:// or https://"),
    ("base_url", "ftp://127.0.0.1/v1", "http:// or https://"),
    ("base_url", "http:///v1", "http:// or https://"),
    ("base_url", "http://127.0.0.1:99999/v1", "[Pp]ort"),
    ("base_url", "https://[::1/v1", "base URL"),
    ("base_url", "https://host/v1 x", "white space"),
    ("base_url", "https://host/v1?key=1", "query"),
    ("base_url", "https://host/v1#x", "fragment"),
    ("base_url", "http://models.example.com/v1", "--allow-http"),
    ("base_url", "http://8.8.8.8/v1", "--allow-http"),
    ("base_url", "http://134744072/v1", "--allow-http"),
    ("base_url", "http://0x08080808/v1", "--allow-http"),
    ("base_url", "http://0x8.8.8.8/v1", "--allow-http"),
    ("base_url", "http://[::ffff:8.8.8.8]/v1", "--allow-http"),
    ("base_url", "http://8%2e8%2e8%2e8/v1", "--allow-http"),
    ("base_url", "http://8\u30028\u30028\u30028/v1", "--allow-http"),
    ("input_usd_per_mtok", None, "only one of its two parts"),
    ("output_usd_per_mtok", None, "only one of its two parts"),
    ("input_usd_per_mtok", -0.1, "the price"),
    ("output_usd_per_mtok", float("inf"), "the price"),
    ("output_usd_per_mtok", float("nan"), "the price"),
    ("max_tokens", 0, "max_tokens"),
    ("max_tokens", 1_000_001, "max_tokens"),
    ("max_tokens", True, "max_tokens"),
    ("concurrency", 0, "concurrency"),
    ("concurrency", 1025, "concurrency"),
    ("requests_per_minute", 0, "requests_per_minute"),
    ("uses", (Use.STUDENT, Use.STUDENT), "uses"),
    ("key_name", "ACME_KEY", "the variable"),
    ("settings", {"extra_headers": {"x": "y"}}, "the setting"),
    ("settings", {"max_tokens": 5}, "the setting"),
    ("settings", {"temperature": 2.1}, "temperature"),
    ("settings", {"temperature": True}, "temperature"),
    ("settings", {"top_p": "1"}, "top_p"),
    ("settings", {"seed": 1.5}, "seed"),
    ("settings", {"stop_sequences": "x"}, "stop_sequences"),
    ("settings", {"stop_sequences": []}, "stop_sequences"),
    ("settings", {"parallel_tool_calls": 1}, "parallel_tool_calls"),
    ("settings", {"thinking": "hard"}, "thinking"),
    ("settings", {"extra_body": {"n": 4}}, "extra_body"),
    ("settings", {"extra_body": {"max_tokens": 9}}, "extra_body"),
    ("settings", {"extra_body": []}, "extra_body"),
]


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Installation]:
    database = Database(f"sqlite:///{tmp_path / 'everloop.db'}")
    database.migrate()
    yield Installation(Settings(home=tmp_path), database, Home(tmp_path))
    database.close()


@pytest.mark.parametrize(("field", "value", "told"), REFUSED)
def test_a_field_that_cannot_be_accepted_is_named(local: Installation, field: str, value: Any, told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        models.add(local, replace(FREE, **{field: value}), None)
    assert models.listing(local) == []


@pytest.mark.parametrize("url", [f"https://me:{KEY}@host/v1", f"https://{KEY}@host/v1", f"http://me:{KEY}@127.0.0.1/"])
def test_credentials_in_a_url_are_refused_and_not_repeated(local: Installation, url: str) -> None:
    with pytest.raises(InvalidRequest, match="credentials") as caught:
        models.add(local, replace(FREE, base_url=url), None)
    assert KEY not in caught.value.message


@pytest.mark.parametrize("name", ["", KEY, "A B", "1KEY", "PATH", "EVERLOOP_HOME", "https_proxy"])
def test_a_variable_that_holds_no_key_is_refused(local: Installation, name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        models.add(local, replace(FREE, key_source=KeySource.ENVIRONMENT, key_name=name), None)
    assert KEY not in caught.value.message


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:11434/v1",
        "http://[::1]:8000/v1",
        "http://[::ffff:127.0.0.1]:8000/v1",
        "http://2130706433:8000/v1",
        "http://10.1.2.3/v1",
        "http://192.168.1.9:8000",
        "http://ollama:11434/v1",
        "http://gpu.internal/v1",
        "https://models.example.com/v1",
    ],
)
def test_near_hosts_may_speak_plain_http(local: Installation, url: str) -> None:
    assert models.add(local, replace(FREE, base_url=url), None).base_url == url


def test_a_distant_host_may_speak_plain_http_when_that_is_accepted(local: Installation) -> None:
    distant = replace(FREE, base_url="http://models.example.com/v1")
    assert models.add(local, distant, None, allow_http=True) == distant


def test_every_setting_that_is_offered_can_be_set(local: Installation) -> None:
    settings = {
        "temperature": 0,
        "top_p": 0.9,
        "top_k": 40,
        "seed": 7,
        "presence_penalty": -1.5,
        "frequency_penalty": 1,
        "stop_sequences": ["END"],
        "parallel_tool_calls": False,
        "thinking": "low",
        "extra_body": {"chat_template_kwargs": {"enable_thinking": False}},
    }
    assert models.add(local, replace(FREE, settings=settings), None).settings == settings


def test_a_test_tells_answer_tokens_and_cost(local: Installation, server: ScriptedServer) -> None:
    priced = replace(KEYED, base_url=server.url, input_usd_per_mtok=10.0, output_usd_per_mtok=100.0)
    models.add(local, priced, KEY)
    told = models.test(local, "keyed")
    seconds = told.pop("seconds")
    assert isinstance(seconds, float)
    assert 0 < seconds < 30
    assert told == {
        "model": "keyed",
        "answer": "ready",
        "input_tokens": 20,
        "output_tokens": 3,
        "requests": 1,
        "usd": 0.0005,
    }
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_test_that_could_pass_its_cap_is_not_sent(local: Installation, server: ScriptedServer) -> None:
    models.add(local, replace(FREE, base_url=server.url, input_usd_per_mtok=1.0, output_usd_per_mtok=900.0), None)
    with pytest.raises(EverloopError) as caught:
        models.test(local, "local")
    assert caught.value.code == "CAP_REACHED"
    assert server.requests == []


def test_a_test_with_a_refused_key_tells_so_without_the_key(
    local: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedServer(lambda _: Reply(fault="401")) as refusing:
        models.add(local, replace(KEYED, base_url=refusing.url), KEY)
        with pytest.raises(ModelRefused) as caught:
            models.test(local, "keyed")
    assert KEY not in caught.value.message
    assert KEY not in caplog.text


def test_a_test_without_its_variable_is_not_sent(
    local: Installation, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACME_KEY", raising=False)
    named = replace(FREE, base_url=server.url, key_source=KeySource.ENVIRONMENT, key_name="ACME_KEY")
    models.add(local, named, None)
    with pytest.raises(ModelNotConfigured, match="ACME_KEY"):
        models.test(local, "local")
    assert server.requests == []


def test_a_test_of_a_model_that_hangs_makes_one_bounded_attempt(local: Installation) -> None:
    impatient = replace(local, settings=Settings(home=local.home.root, model_deadline_seconds=0.3, model_retries=4))
    with ScriptedServer(lambda _: Reply(fault="hang")) as hanging:
        models.add(local, replace(FREE, base_url=hanging.url), None)
        with pytest.raises(ModelUnavailable):
            models.test(impatient, "local")
    assert len(hanging.requests) == 1
