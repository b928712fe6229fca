"""The board of a run for a terminal: overview, versions with scores, claims, gates, rounds."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from everloop.events import Json
from everloop.fields import MISSING, dollars, figure, interval, main_score, number, part, parts, word

_COLOURS = {
    "certified": "green",
    "shown": "green",
    "finished": "green",
    "kept": "cyan",
    "running": "cyan",
    "not_shown": "yellow",
    "paused": "yellow",
    "reverted": "yellow",
    "stopped": "yellow",
    "rejected": "yellow",
    "failed": "red",
    "error": "red",
}


def board(document: Json) -> RenderableType:
    """Everything worth a look when a run has ended, top to bottom."""
    tables = (overview, versions, families, claims, gates, rounds)
    return Group(*(part for table in tables if (part := table(document)) is not None))


def print_board(document: Json, console: Console | None = None) -> None:
    """Print the board."""
    console = console or Console()
    console.print(board(document))


def overview(document: Json) -> RenderableType:
    """State, rounds, best version, spend, machine and the steps of the classic example."""
    spend, limits = part(document, "spend"), part(document, "limits")
    table = _table(f"Run {word(document.get('run'))}", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("state", _coloured(word(document.get("state"))))
    table.add_row("round", f"{word(document.get('round'))} of {word(document.get('rounds_target'))}")
    table.add_row("best version", word(document.get("best_version")))
    cap = dollars(number(limits, "model_usd_cap"))
    total, gpu = dollars(number(spend, "total_usd")), dollars(number(spend, "gpu_usd"))
    table.add_row("spend", f"{total} (models {dollars(number(spend, 'model_usd'))} of at most {cap}, compute {gpu})")
    table.add_row("machine", word(document.get("machine")))
    error = part(document, "error")
    if error:
        table.add_row("error", Text(f"{word(error.get('code'))}: {word(error.get('message'))}", style="red"))
    for step in parts(document, "steps"):
        mark = "✓" if step.get("done") else "·"
        table.add_row(f"{mark} {word(step.get('step')).replace('_', ' ')}", word(step.get("note")))
    return table


def versions(document: Json) -> RenderableType:
    """Each version and the control arm with its score on every set it was measured on."""
    sets = _sets(document)
    table = _table("Scores per version: mean, n, 95 % interval")
    table.add_column("version", style="bold")
    table.add_column("rows", justify="right")
    for name in sets:
        table.add_column(name, justify="right")
    for version in parts(document, "versions"):
        best = version.get("version") == document.get("best_version")
        cells = [_score(_of(version, name)) for name in sets]
        table.add_row(word(version.get("version")) + (" (best)" if best else ""), word(version.get("rows")), *cells)
    control = part(document, "control")
    if control:
        table.add_section()
        table.add_row("control", word(control.get("rows")), *(_score(_of(control, name)) for name in sets))
    return table


def families(document: Json) -> RenderableType | None:
    """Scores per family of v0, the best version and the control arm, each on the strongest set it was measured on."""
    shown = _compared(document)
    names = sorted({word(score.get("split")) for _, one in shown for score in parts(one, "scores")} - {"all"})
    if not names or not shown:
        return None
    table = _table("Scores per family")
    table.add_column("family", style="bold")
    for title, one in shown:
        table.add_column(f"{title} ({word((main_score(one) or {}).get('set'))})", justify="right")
    for name in names:
        cells = [_score(_of(one, word((main_score(one) or {}).get("set")), name)) for _, one in shown]
        table.add_row(name, *cells)
    return table


def _compared(document: Json) -> list[tuple[str, Json]]:
    listed = parts(document, "versions")
    best = [one for one in listed if one.get("version") == document.get("best_version")]
    chosen = listed[:1] + [one for one in best if one not in listed[:1]]
    shown = [(word(one.get("version")), one) for one in chosen]
    control = part(document, "control")
    return [*shown, ("control", control)] if control else shown


def claims(document: Json) -> RenderableType | None:
    """What was claimed against what, and whether the evidence supports it."""
    found = parts(document, "claims")
    if not found:
        return None
    table = _table("Claims")
    for title in ("claim", "candidate", "against", "alpha", "outcome"):
        table.add_column(title)
    for one in found:
        outcome = word(one.get("outcome"))
        row = (word(one.get(name)) for name in ("claim", "candidate", "against", "alpha"))
        table.add_row(*(cell.replace("_", " ") for cell in row), _coloured(outcome, outcome.replace("_", " ")))
    return table


def gates(document: Json) -> RenderableType | None:
    """Certifications and final gates with their figures."""
    found = parts(document, "gates")
    if not found:
        return None
    table = _table("Gates: what was measured on items that nobody had seen")
    for title in ("gate", "candidate", "against", "change", "log e", "passed"):
        table.add_column(title, justify="left" if title in {"gate", "passed"} else "right", no_wrap=True)
    for one in found:
        passed = word(one.get("passed"))
        table.add_row(
            word(one.get("gate")),
            f"{word(one.get('candidate'))}\n{figure(number(one, 'mean'))}",
            f"{word(one.get('baseline'))}\n{figure(number(one, 'baseline_mean'))}",
            f"{figure(number(one, 'change'), '+.3f')} n={word(one.get('n'))}\n{_bounds(one)}",
            _evidence(part(one, "evidence")),
            _coloured("shown" if one.get("passed") else "not_shown", passed),
        )
        if number(one, "control_mean") is not None:
            change = f"{figure(number(one, 'change_from_control'), '+.3f')} n={word(one.get('n'))}"
            table.add_row(
                "",
                "",
                f"control\n{figure(number(one, 'control_mean'))}",
                change,
                _evidence(part(one, "control_evidence")),
                _verdict(one),
            )
    return table


def rounds(document: Json) -> RenderableType | None:
    """Each round's decision and summary."""
    found = parts(document, "rounds")
    if not found:
        return None
    table = _table("Rounds")
    table.add_column("round", justify="right")
    table.add_column("decision")
    table.add_column("version")
    table.add_column("plan", overflow="fold", ratio=1)
    table.add_column("summary", overflow="fold", ratio=1)
    for one in sorted(found, key=lambda entry: number(entry, "round") or 0):
        decision = word(one.get("decision"))
        table.add_row(
            word(one.get("round")),
            _coloured(decision),
            word(one.get("version")),
            word(one.get("plan")),
            word(one.get("summary")),
        )
    return table


def _table(title: str, *, show_header: bool = True) -> Table:
    return Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        show_header=show_header,
        header_style="dim",
        box=box.SIMPLE_HEAD,
    )


def _evidence(evidence: Json) -> str:
    return f"{figure(number(evidence, 'log_e'), '.1f')}\nneeds {figure(number(evidence, 'threshold'), '.1f')}"


def _verdict(one: Json) -> Text:
    """Whether the best version was shown to beat the control arm; "—" when that was not tested."""
    return _coloured("shown" if one.get("beats_control") else "not_shown", word(one.get("beats_control")))


def _coloured(key: str, text: str | None = None) -> Text:
    return Text(text or key, style=_COLOURS.get(key, ""))


def _sets(document: Json) -> list[str]:
    """Names of the sets that anything was measured on, strongest evidence last; "score" when nothing was."""
    scored = [*parts(document, "versions"), part(document, "control")]
    found = {word(score.get("set")) for one in scored for score in parts(one, "scores")}
    known = [name for name in ("dev", "certify", "blind") if name in found]
    return known + sorted(found - set(known)) or ["score"]


def _of(scored: Json, set_name: str, split: str = "all") -> Json | None:
    same = (one for one in parts(scored, "scores") if one.get("set") == set_name and one.get("split") == split)
    return next(same, None)


def _score(score: Json | None) -> str:
    """Mean and n, the interval under them; failed evaluations are told when there were any."""
    if score is None or number(score, "mean") is None:
        return MISSING
    missing = number(score, "missing")
    failed = f", {missing:.0f} missing" if missing else ""
    text = interval(number(score, "low"), number(score, "high"))
    return f"{figure(number(score, 'mean'))} n={word(score.get('n'))}{failed}\n{text}"


def _bounds(one: Json) -> str:
    low, high = number(one, "low"), number(one, "high")
    return "" if low is None or high is None else interval(low, high, "+.3f")
