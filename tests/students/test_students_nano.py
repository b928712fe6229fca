"""The small transformer: really trained, byte for byte repeatable, and honest about what it cannot do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.domains.arith import Arith
from everloop.domains.stream import Stream
from everloop.errors import CheckpointCorrupt, EvaluationFailed, InvalidRequest, JobFailed
from everloop.events import JsonValue
from everloop.students import codec
from everloop.students.base import Manifest, Row, TrainRequest, TrainSettings
from everloop.students.checkpoints import verify
from everloop.students.nano import NanoTrainer, learning_rate
from everloop.students.registry import trainer
from everloop.students.synthetic import SyntheticTrainer

TINY = TrainSettings(steps=12, batch_size=16, learning_rate=3e-3)
TRAINER = NanoTrainer()


def rows(n: int = 64, weight: float = 1.0) -> list[Row]:
    items, _ = Stream(Arith(), 0).draw_balanced("train", n, {})
    return [Row(item.family, item.prompt, item.answer, weight) for item in items]


def train(
    folder: Path,
    name: str,
    given: Sequence[Row],
    *,
    seed: int = 1,
    parent: Path | None = None,
    settings: TrainSettings = TINY,
) -> Manifest:
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in given))
    return TRAINER.train(TrainRequest(file, folder / name, parent, seed, settings), lambda _: None)


def test_naming_and_describing_it_imports_no_training_library() -> None:
    script = (
        "import sys, everloop.students, everloop.domains, everloop.experience\n"
        "from everloop.students.registry import trainer\n"
        "t = trainer('nano'); t.capabilities(); t.defaults(base=True)\n"
        "import everloop.students.measuring, everloop.students.training, everloop.students.checkpoints\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'safetensors')))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_without_the_library_it_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from everloop.errors import Unavailable\n"
        "from everloop.students.nano import NanoTrainer\n"
        "try: NanoTrainer().init(Path(sys.argv[1]), 0)\n"
        "except Unavailable as error: print(error.message)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "c")], capture_output=True, check=True, text=True
    )
    assert "pip install 'everloop[train]'" in done.stdout and list(tmp_path.iterdir()) == []


def test_trainers_are_found_by_name() -> None:
    assert isinstance(trainer("nano"), NanoTrainer) and isinstance(trainer("synthetic"), SyntheticTrainer)
    with pytest.raises(InvalidRequest, match="known: nano"):
        trainer("alchemist")


def test_two_trainings_with_one_seed_are_one_checkpoint(tmp_path: Path) -> None:
    one, two, other = (train(tmp_path, name, rows(), seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    first, second = ((tmp_path / name / "weights.safetensors").read_bytes() for name in "ab")
    assert first == second and one == two
    assert other.weights_sha256 != one.weights_sha256 and verify(tmp_path / "a") == one
    assert one.threads == 1 and "torch" in one.versions and one.rows == 64 and one.parent_sha256 is None


def test_training_goes_on_from_its_parent_and_lowers_the_loss(tmp_path: Path) -> None:
    losses: list[dict[str, JsonValue]] = []
    start = TRAINER.init(tmp_path / "v0", 5)
    file = tmp_path / "r.jsonl"
    file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows(8)))
    settings = TrainSettings(steps=120, batch_size=16, learning_rate=3e-3)
    request = TrainRequest(file, tmp_path / "v1", tmp_path / "v0", 5, settings)
    made = TRAINER.train(request, lambda progress: losses.append(dict(progress)))
    assert made.parent_sha256 == start.weights_sha256
    assert losses[0]["step"] == 1 and losses[-1]["step"] == losses[-1]["steps"] == 120
    assert float(str(losses[-1]["loss"])) < 0.6 * float(str(losses[0]["loss"]))


def test_rows_are_drawn_by_their_weight(tmp_path: Path) -> None:
    wrong = [Row("x", f"{a}+100=", "1") for a in range(100, 130)]
    heavy = train(tmp_path, "heavy", rows(30) + [Row(r.family, r.prompt, r.completion, 1e-12) for r in wrong])
    even = train(tmp_path, "even", rows(30) + wrong)
    assert heavy.weights_sha256 != even.weights_sha256


def test_a_loss_that_is_not_finite_fails_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match=r"not finite|nan|inf"):
        train(tmp_path, "a", rows(), settings=TrainSettings(steps=40, batch_size=16, learning_rate=1e30))
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "settings", [TrainSettings(steps=0), TrainSettings(batch_size=0), TrainSettings(learning_rate=-1.0)]
)
def test_settings_that_cannot_be_are_refused(tmp_path: Path, settings: TrainSettings) -> None:
    with pytest.raises(InvalidRequest):
        train(tmp_path, "a", rows(), settings=settings)


@pytest.mark.parametrize(
    "line",
    ["", "{}", '{"family": "f", "prompt": "1+1=", "completion": 2}',
     '{"family":"f","prompt":"1+1=","completion":"2","weight":-1}',
     '{"family":"f","prompt":"hello","completion":"2"}', '{"family":"f","prompt":"1+1=","completion":"two"}'],
)  # fmt: skip
def test_rows_that_are_none_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "r.jsonl").write_text(line)
    with pytest.raises(InvalidRequest):
        TRAINER.train(TrainRequest(tmp_path / "r.jsonl", tmp_path / "c", None, 0, TINY), lambda _: None)


def test_a_parent_that_is_corrupt_or_foreign_is_not_trained_on(tmp_path: Path) -> None:
    SyntheticTrainer().init(tmp_path / "foreign", 0)
    with pytest.raises(CheckpointCorrupt):
        train(tmp_path, "a", rows(), parent=tmp_path / "foreign")
    TRAINER.init(tmp_path / "v0", 0)
    data = bytearray((tmp_path / "v0/weights.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "v0/weights.safetensors").write_bytes(data)
    with pytest.raises(CheckpointCorrupt):
        TRAINER.sampler(tmp_path / "v0")


def test_samples_repeat_with_their_seed_and_greedy_ignores_it(tmp_path: Path) -> None:
    TRAINER.init(tmp_path / "v0", 0)
    sampler = TRAINER.sampler(tmp_path / "v0")
    prompts = [row.prompt for row in rows(40)]
    hot = sampler.sample(prompts, k=3, temperature=1.0, seed=1)
    assert [len(one) for one in hot] == [3] * 40
    assert hot == sampler.sample(prompts, k=3, temperature=1.0, seed=1)
    assert hot != sampler.sample(prompts, k=3, temperature=1.0, seed=2)
    assert sampler.sample(prompts, seed=1) == sampler.sample(prompts, seed=2)
    assert sampler.sample(prompts[:7]) == sampler.sample(prompts)[:7]
    assert sampler.sample([]) == []
    with pytest.raises(EvaluationFailed, match="cannot read"):
        sampler.sample(["what is 2+2?"])


def test_the_learning_rate_warms_up_and_falls() -> None:
    settings = TrainSettings(steps=100, learning_rate=1.0)
    rates = [learning_rate(step, settings) for step in range(100)]
    assert rates[0] < 0.06 and max(rates) > 0.9 and rates.index(max(rates)) == 19 and 0.05 <= rates[-1] < 0.06


@given(st.integers(0, 99_999))
def test_the_codec_reads_back_what_it_wrote(number: int) -> None:
    assert codec.decode_answer(codec.encode_answer(str(number))) == str(number)
    assert len(codec.encode_answer(str(number))) == codec.ANSWER_LENGTH


@given(st.integers(0, 9999), st.sampled_from("+-"), st.integers(0, 9999))
def test_prompts_have_one_length_and_are_told_apart(a: int, sign: str, b: int) -> None:
    ids = codec.encode_prompt(f"{a}{sign}{b}=")
    assert len(ids) == codec.PROMPT_LENGTH
    assert ids != codec.encode_prompt(f"{(a + 1) % 10_000}{sign}{b}=")
