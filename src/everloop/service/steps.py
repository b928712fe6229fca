"""The classic-example steps of a run: data -> checkpoint -> benchmark -> beats base, each with a note."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from everloop.events import Json
from everloop.store import versions
from everloop.store.runs import RunRow


def steps(tx: Connection, row: RunRow, stored_gates: Sequence[Json]) -> list[Json]:
    """What has been reached, from what the store holds; a step that is not reached says so."""
    best = versions.get(tx, row.run, row.best_version) if row.best_version else None
    final = next((one for one in reversed(stored_gates) if one["gate"] == "final"), None)
    trained = best is not None and best.version != "v0"
    confirmed = final is not None and final["candidate"] == row.best_version
    if row.mode == "dry":
        data = _step("data", False, "a dry run trains nothing")
        artifact = _step(
            "checkpoint", best is not None, f"a prompt: {_checkpoint(best.artifact)}" if best else "none yet"
        )
    else:
        data = _step("data", best is not None, f"{best.rows} rows" if best else "no rows yet")
        artifact = _step("checkpoint", best is not None, _checkpoint(best.artifact) if best else "none yet")
    return [
        data,
        artifact,
        _step("benchmark", confirmed, _benchmark(final) if confirmed else "the final gate has not been held"),
        _step(
            "beats_base", bool(trained and confirmed and final and final["passed"]), _beats(trained, final, confirmed)
        ),
    ]


def _step(name: str, done: bool, note: str) -> Json:
    return {"step": name, "done": done, "note": note}


def _checkpoint(artifact: Json) -> str:
    return f"{artifact['path']} ({str(artifact['sha256'])[:12]})"


def _benchmark(final: Json | None) -> str:
    if final is None or final["mean"] is None:
        return "nothing was measured"
    return f"{final['mean']:.3f} on {final['n']} blind items"


def _beats(trained: bool, final: Json | None, confirmed: bool) -> str:
    if not trained:
        return "no version was certified"
    if final is None or not confirmed:
        return "not confirmed yet"
    if not final["passed"]:
        return "unconfirmed: the final gate did not show it"
    return f"{final['change']:+.3f} [{final['low']:+.3f}, {final['high']:+.3f}] against v0"
