"""``el gate``: what a gate can detect and costs, how often it is wrong, and how it does in simulation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from everloop.evidence.gates.base import Gate

COUNT = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_POLICY = click.option("--policy", default="two_line", show_default=True, help="Gate to use.")
_SEED = click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of every draw.")


@click.group()
def gate() -> None:
    """Plan, test and simulate decision gates."""


@gate.command()
@_POLICY
@click.option("--setting", type=click.Choice(["agent", "model"]), default="model", show_default=True, help="Defaults.")
@click.option("--dev-n", type=COUNT, help="Dev items of a screen.")
@click.option("--eval-limit", type=COUNT, default=4000, show_default=True, help="Evaluations of one certification.")
@click.option("--blind-n", type=COUNT, default=2000, show_default=True, help="Items of the final gate.")
@click.option("--rounds", type=COUNT, default=6, show_default=True, help="Rounds of the run.")
@click.option("--discordant", type=SHARE, default=0.2, show_default=True, help="Share of pairs that disagree.")
@click.option("--usd-per-hour", type=click.FloatRange(min=0), default=0.0, show_default=True, help="Rate of a job.")
@click.option("--job-seconds", type=click.FloatRange(min=0), default=600.0, show_default=True, help="Limit of a job.")
@_JSON
def plan(
    policy: str,
    setting: str,
    dev_n: int | None,
    eval_limit: int,
    blind_n: int,
    rounds: int,
    discordant: float,
    usd_per_hour: float,
    job_seconds: float,
    as_json: bool,
) -> None:
    """Show the least effect a protocol can detect and the most it can cost."""
    from everloop.evidence.planning import minimum_detectable_effect, worst_case

    made = _made(policy, setting, dev_n, eval_limit)
    cost = worst_case(made, rounds=rounds, blind_n=blind_n, job_usd=usd_per_hour * job_seconds / 3600)
    document = {
        "policy": made.name,
        "alpha": made.alpha,
        "dev_n": made.dev_n,
        "certify_pairs": made.max_pairs(),
        "minimum_detectable_effect": minimum_detectable_effect(made, discordant=discordant),
        "worst_case_evaluations": cost.evaluations,
        "worst_case_usd": cost.usd,
    }
    _show(document, as_json)


@gate.command()
@_POLICY
@click.option("--reps", type=COUNT, default=200, show_default=True, help="Null proposals.")
@_SEED
@_JSON
def selftest(policy: str, reps: int, seed: int, as_json: bool) -> None:
    """Measure how often a gate accepts candidates equal to the incumbent."""
    from everloop.evidence.selftest import selftest as measure

    _show(measure(_made(policy), reps=reps, seed=seed).to_json(), as_json)


@gate.command()
@_POLICY
@click.option("--rounds", type=COUNT, default=1000, show_default=True, help="Candidates of a repetition.")
@click.option("--reps", type=COUNT, default=5, show_default=True, help="Repetitions.")
@_SEED
@click.option("--budget", type=COUNT, help="Item evaluations of a run that compounds; --rounds is then not used.")
@click.option("--rho", type=click.FloatRange(0, 1, max_open=True), default=0.8, show_default=True, help="Correlation.")
@click.option(
    "--start", type=click.FloatRange(0.02, 0.98), default=0.5, show_default=True, help="Quality at the start."
)
@click.option("--rare", is_flag=True, help="Gains are rare and small (3 %, 1 to 4 points).")
@_JSON
def simulate(
    policy: str,
    rounds: int,
    reps: int,
    seed: int,
    budget: int | None,
    rho: float,
    start: float,
    rare: bool,
    as_json: bool,
) -> None:
    """Simulate a gate on single steps, or on runs that compound within a budget."""
    from everloop.evidence.simulate import simulate_runs, simulate_steps
    from everloop.evidence.world import World

    made = _made(policy)
    world = World.rare(rho=rho, start=start) if rare else World(rho=rho, start=start)
    if budget is None:
        _show(simulate_steps(made, rounds=rounds, reps=reps, seed=seed, world=world).to_json(), as_json)
    else:
        _show(simulate_runs(made, budget=budget, reps=reps, seed=seed, world=world).to_json(), as_json)


def _made(policy: str, setting: str = "agent", dev_n: int | None = None, eval_limit: int = 4000) -> Gate:
    from everloop.evidence.gates.registry import GATES, make_gate

    if policy not in GATES:
        raise click.BadParameter(f"{policy!r} is not known; known: {', '.join(GATES)}", param_hint="'--policy'")
    return make_gate(policy, setting=setting, dev_n=dev_n, eval_limit=eval_limit)


def _show(document: Mapping[str, object], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    width = max(map(len, document))
    for name, value in document.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {one}" for key, one in value.items())
        click.echo(f"{name.replace('_', ' '):{width}}  {'—' if value is None else value}")
