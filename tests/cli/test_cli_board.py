from __future__ import annotations

import io
import re

from documents import document, score, version
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from everloop.cli.board import print_board
from everloop.events import Json
from everloop.fields import dollars, figure, interval


def shown(told: Json, width: int = 80) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    print_board(told, console)
    return console.export_text()


def test_scores_claims_gates_and_rounds_are_shown() -> None:
    told = shown(document(version("v0", score(0.79)), version("v1", score(0.995)), control=version("c", score(0.93))))
    for piece in (
        "v1 (best)",
        "0.995 n=400",
        "[0.770, 0.810]",
        "control",
        "not shown",
        "+0.205",
        "certified",
        "needs 5.3",
    ):
        assert piece in told


def test_absent_is_a_dash_and_never_zero() -> None:
    told = shown({"run": "new", "versions": [version("v0", score(None))], "gates": [{"gate": "final"}]})
    assert "—" in told
    assert not re.search(r"(?<![\d.v])0(\.0+)?(?!\d)", told)


def test_nothing_is_cut_at_eighty_columns() -> None:
    control = version("control", score(0.93, n=2000))
    versions = [version(f"v{n}", score(0.9, "dev"), score(0.9, "certify"), score(0.9, n=2000)) for n in range(3)]
    assert "…" not in shown(document(*versions, control=control))


def test_families_are_compared_between_base_best_and_control() -> None:
    told = shown(
        document(
            version("v0", score(0.5), score(0.41, split="add3")),
            version("v1", score(0.9), score(0.92, split="add3")),
            control=version("control", score(0.8), score(0.83, split="add3")),
        )
    )
    row = next(line for line in told.splitlines() if line.strip().startswith("add3"))
    assert [piece for piece in row.split() if piece.startswith("0.")] == ["0.410", "0.920", "0.830"]


@given(st.integers(min_value=0, max_value=10**12))
def test_dollars_lose_no_micro_dollar(micros: int) -> None:
    assert round(float(dollars(micros / 1_000_000).removeprefix("$")) * 1_000_000) == micros


def test_absent_figures() -> None:
    assert (figure(None), interval(None, 1.0), dollars(None)) == ("—", "—", "—")
    assert figure(0.0) == "0.000"
