"""Names, lines, loops, keys, limits of concurrency and rate, and the caps under many callers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from lines import ANSWERED, KEY, QUICK, WIRES, answer, faults, rig
from pydantic_ai import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from scripted import Reply

from everloop.errors import CapReached, Conflict, ModelNotConfigured, ModelRefused
from everloop.gateway.base import KeySource
from everloop.gateway.gateway import Gateway
from everloop.gateway.memory_account import MemoryAccount
from everloop.gateway.provider import build
from everloop.gateway.transport import sealed_client

ASKED = [ModelRequest.user_text_prompt("hi")]
PARAMETERS = ModelRequestParameters()


def test_unknown_name_is_refused() -> None:
    gateway = Gateway({}.__getitem__, lambda _: None)
    with pytest.raises(ModelNotConfigured, match="no model is called 'm'"):
        gateway.model("m", MemoryAccount(), "k")


@pytest.mark.parametrize("wire", WIRES)
def test_unknown_price_is_refused_before_anything_is_sent(wire: str) -> None:
    with rig(wire=wire, input_usd_per_mtok=None) as it:
        with pytest.raises(ModelNotConfigured, match="no known price"):
            it.ask()
        with pytest.raises(ModelNotConfigured):
            it.gateway.price("m")
        assert it.server.requests == []
        assert it.money == (0, 0, 0)


def test_unknown_provider_is_refused() -> None:
    with rig(provider="nowhere") as it, pytest.raises(ModelNotConfigured, match="'nowhere' cannot be used"):
        it.ask()


def test_provider_that_is_not_installed_names_its_extra() -> None:
    with rig(provider="groq") as it, pytest.raises(ModelNotConfigured, match="groq"):
        it.ask()


def test_another_provider_of_pydantic_ai_works_without_retries_of_its_sdk() -> None:
    with rig(faults("503", Reply("done")), provider="litellm", base_url="") as it:
        entry = replace(it.entries["m"], provider="ollama", base_url=it.server.url)
        it.entries["m"] = entry
        assert it.ask() == "done"
        assert len(it.server.requests) == 2
        assert build(entry, KEY, sealed_client()).provider.client.max_retries == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("wire", WIRES)
def test_key_of_the_environment_is_not_used(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "sk-of-the-environment")
    with rig(wire=wire, secret=None) as it:
        assert it.ask() == "ok"
        assert "sk-of-the-environment" not in str(it.server.requests[0].headers)


def test_missing_key_is_refused() -> None:
    with rig(secret=None, key_source=KeySource.FILE) as it:
        with pytest.raises(ModelNotConfigured, match="has no key"):
            it.ask()
        assert it.server.requests == []


def test_key_is_read_again_after_it_was_refused() -> None:
    keys = ["old", "new"]
    with rig(lambda one: Reply(fault="" if "new" in one.headers["authorization"] else "401")) as it:
        it.gateway._secret = lambda _: keys[0] if len(keys) == 1 else keys.pop(0)
        with pytest.raises(ModelRefused, match="401"):
            it.ask(key="a")
        assert it.ask(key="b") == "ok"


def test_changed_entry_renews_the_line() -> None:
    with rig() as it:
        it.ask(key="a")
        it.change(model="another")
        it.ask(key="b")
        assert [one.body["model"] for one in it.server.requests] == ["scripted", "another"]


def test_changed_entry_does_not_cut_off_a_call_under_way() -> None:
    with rig(lambda one: Reply(delay=0.2 if one.number == 1 else 0)) as it:

        async def go() -> list[str]:
            slow = asyncio.ensure_future(answer(it.model("a"), "hi"))
            await asyncio.sleep(0.1)
            it.change(model="another")
            return [await answer(it.model("b"), "hi"), await slow]

        assert it.gateway.run(go) == ["ok", "ok"]


def test_model_works_in_a_loop_that_is_not_the_gateways() -> None:
    with rig() as it:

        async def here() -> str:
            try:
                return await answer(it.model(), "hi")
            finally:
                await it.gateway.aclose()

        assert asyncio.run(here()) == "ok"
        assert it.ask(key="own") == "ok"
        assert asyncio.run(here()) == "ok"  # journalled


def test_many_threads_share_the_gateway() -> None:
    with rig(concurrency=2) as it:
        said: list[str] = []
        threads = [threading.Thread(target=lambda n=n: said.append(it.ask(key=f"{n}"))) for n in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert said == ["ok"] * 8
        assert it.server.most_at_once <= 2


def test_gateway_starts_again_after_it_was_closed() -> None:
    with rig() as it:
        it.ask(key="a")
        thread = it.gateway._thread
        it.gateway.close()
        assert thread is not None
        assert not thread.is_alive()
        assert it.ask(key="b") == "ok"


def test_gateway_does_not_wait_for_itself() -> None:
    with rig() as it:

        async def inside() -> None:
            it.gateway.run(lambda: asyncio.sleep(0))

        with pytest.raises(Conflict):
            it.gateway.run(inside)


def test_concurrency_is_bounded() -> None:
    with rig(lambda _: Reply(delay=0.05), concurrency=3) as it:

        async def go() -> None:
            await asyncio.gather(*(it.model(f"{n}").request(ASKED, None, PARAMETERS) for n in range(12)))

        it.gateway.run(go)
        assert it.server.most_at_once == 3


def test_requests_a_minute_are_bounded() -> None:
    with rig(requests_per_minute=600) as it:  # ten a second, ten at once

        async def go() -> None:
            await asyncio.gather(*(it.model(f"{n}").request(ASKED, None, PARAMETERS) for n in range(16)))

        begun = time.monotonic()
        it.gateway.run(go)
        assert time.monotonic() - begun > 0.55


def test_cap_is_never_passed_by_many_callers() -> None:
    with rig(lambda _: Reply(delay=0.01), concurrency=64) as it:
        cap = 10 * it.worst
        account = it.account = MemoryAccount(usd_cap=cap / 1_000_000)
        most = 0

        async def one(n: int) -> bool:
            nonlocal most
            try:
                await it.model(f"{n}").request(ASKED, None, PARAMETERS)
            except CapReached:
                return False
            finally:
                most = max(most, account.spent.micros + account.held.micros)
            return True

        async def go() -> list[bool]:
            return await asyncio.gather(*(one(n) for n in range(200)))

        done = it.gateway.run(go)
        assert most <= cap
        assert it.money == (sum(done) * ANSWERED, 0, sum(done))
        assert 10 <= sum(done) < 200
        assert len(it.server.requests) == sum(done)


def test_cap_on_requests_is_never_passed_by_many_callers() -> None:
    with rig(faults("500", "reset", Reply()), account=MemoryAccount(request_cap=20), concurrency=64) as it:

        async def go() -> list[object]:
            calls = (it.model(f"{n}").request(ASKED, None, PARAMETERS) for n in range(200))
            return await asyncio.gather(*calls, return_exceptions=True)

        said = it.gateway.run(go)
        assert len(it.server.requests) == it.account.requests == 20
        assert sum(isinstance(one, CapReached) for one in said) == 182


def test_cancelled_call_keeps_its_worst_cost_spent() -> None:
    with rig(faults("hang"), limits=QUICK) as it:

        async def go() -> None:
            task = asyncio.ensure_future(answer(it.model(), "hi"))
            await asyncio.sleep(0.15)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()

        it.gateway.run(go)
        assert it.money == (it.worst, 0, 1)


class SlowAccount(MemoryAccount):
    """Reserves a moment after it was asked to."""

    async def begin(self, call: object, worst: object) -> None:
        await asyncio.sleep(0.1)
        return await super().begin(call, worst)  # type: ignore[arg-type,return-value]


def test_call_cancelled_while_it_reserves_holds_and_costs_nothing() -> None:
    with rig(account=SlowAccount()) as it:

        async def go() -> None:
            task = asyncio.ensure_future(answer(it.model(), "hi"))
            await asyncio.sleep(0.05)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()

        it.gateway.run(go)
        assert it.money == (0, 0, 0)
        assert it.server.requests == []


def test_interface_file_stays_light() -> None:
    heavy = "('pydantic_ai', 'openai', 'httpx2')"
    code = (
        f"import sys, everloop.gateway.base, everloop.gateway.gateway; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
