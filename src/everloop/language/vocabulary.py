"""Our own fixed words (states, decisions, phases, kinds, sets) as people read them, in their language."""

from __future__ import annotations

from collections.abc import Mapping

from everloop.fields import MISSING, line
from everloop.language.catalogue import Language


def N_(text: str) -> str:  # noqa: N802 - gettext's own name for a text that is translated elsewhere
    """Mark a text for the catalogue."""
    return text


TERMS = {
    "starting": N_("starting"),
    "running": N_("running"),
    "paused": N_("paused"),
    "finished": N_("finished"),
    "failed": N_("failed"),
    "stopped": N_("stopped"),
    "unreadable": N_("unreadable"),
    "kept": N_("kept"),
    "certified": N_("certified"),
    "reverted": N_("reverted"),
    "rejected": N_("rejected"),
    "error": N_("error"),
    "shown": N_("shown"),
    "not_shown": N_("not shown"),
    "pending": N_("pending"),
    "stopping": N_("stopping"),
    "completed": N_("completed"),
    "cancelled": N_("cancelled"),
    "timeout": N_("timed out"),
    "lost": N_("lost"),
    "waiting": N_("waiting"),
    "approved": N_("approved"),
    "base": N_("base"),
    "candidate": N_("candidate"),
    "control": N_("control"),
    "submitted": N_("submitted"),
    "certification": N_("certification"),
    "system": N_("system"),
    "runtime": N_("training"),
    "active": N_("active"),
    "disabled": N_("disabled"),
    "expired": N_("expired"),
    "revoked": N_("revoked"),
    "viewer": N_("viewer"),
    "developer": N_("developer"),
    "admin": N_("admin"),
    "automation": N_("project automation"),
    "read-only": N_("read only"),
    "custom": N_("custom"),
    "final": N_("final gate"),
    "beats_base": N_("beats base"),
    "beats_control": N_("beats the control arm"),
    "dev": N_("dev"),
    "certify": N_("certification"),
    "blind": N_("blind"),
    "data": N_("data"),
    "checkpoint": N_("checkpoint"),
    "benchmark": N_("benchmark"),
    "live": N_("live"),
    "dry": N_("dry"),
    "model": N_("model"),
    "harness": N_("harness"),
    "code": N_("code"),
    "search": N_("search"),
    "contamination": N_("contamination"),
    "regression": N_("regression"),
    "significance": N_("significance"),
    "rationale": N_("rationale"),
    "figures": N_("figures"),
    "reviewer": N_("reviewer"),
    "rules": N_("rules"),
    "failures": N_("failures"),
    "soft-score": N_("soft score"),
    "message": N_("message"),
    "tool_call": N_("tool call"),
    "tool_result": N_("tool result"),
    "steer": N_("steer"),
    "round": N_("round"),
    "job": N_("job"),
    "queued": N_("queued"),
    "delivered": N_("delivered"),
    "dropped": N_("dropped"),
    "approval": N_("approval"),
    "operator": N_("operator"),
    "auditor": N_("auditor"),
    "student": N_("student"),
    "loop": N_("loop"),
    "gate": N_("gate"),
    "judge": N_("judge"),
    "sample": N_("sample"),
    "work": N_("work loop"),
    "capability": N_("capability loop"),
    "two_line": N_("two lines"),
    "hard": N_("hard"),
    "soft": N_("soft"),
    "infra": N_("infra"),
    "futility": N_("futility"),
    "budget": N_("budget"),
    "replay": N_("replay"),
    "prompt": N_("prompt"),
    "passed": N_("passed"),
}
"""Word on the wire -> English text. A word that is not here is shown as it is."""

PHASES = {
    "begin": N_("begin"),
    "base-rows": N_("starting rows"),
    "calibrate": N_("calibrate the judge"),
    "baseline": N_("baseline"),
    "generation": N_("take up the run"),
    "turn": N_("decide on the next round"),
    "open": N_("open the round"),
    "diagnose": N_("diagnose"),
    "propose": N_("propose"),
    "turn-of-model": N_("turn of a model"),
    "collect": N_("collect"),
    "launch": N_("launch"),
    "train": N_("train"),
    "build": N_("build"),
    "control-pending": N_("control arm"),
    "control": N_("control arm"),
    "dev": N_("draw dev items"),
    "admit": N_("pre-test"),
    "screen": N_("screen"),
    "evaluate": N_("evaluate"),
    "contamination": N_("contamination check"),
    "audit": N_("audit"),
    "certify": N_("certify"),
    "approval": N_("approval"),
    "decide": N_("decide"),
    "conclude": N_("conclude"),
    "summarise": N_("summarise"),
    "final": N_("final gate"),
    "closing": N_("close the run"),
    "end": N_("end"),
    "left": N_("leave the run"),
}
"""Phase of a run -> English text, in the order of a run; the same word may be called otherwise elsewhere (`TERMS`)."""


def term(language: Language, word: object) -> str:
    """A word of the wire as people read it; "—" for anything else."""
    return _said(language, word, TERMS)


def phase(language: Language, word: object) -> str:
    """A phase of a run as people read it; "—" for anything else."""
    return _said(language, word, PHASES)


def _said(language: Language, word: object, words: Mapping[str, str]) -> str:
    if not isinstance(word, str) or not word:
        return MISSING
    return language.say(words[word]) if word in words else line(word.replace("_", " "))
