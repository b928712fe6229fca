"""The synthetic student: the law of its training and of its answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from everloop.domains.base import Item
from everloop.domains.stream import Stream
from everloop.domains.synthetic import Synthetic
from everloop.domains.synthetic import answer_to as domain_answer
from everloop.errors import CheckpointCorrupt, InvalidRequest, JobFailed
from everloop.students.base import Row, TrainRequest, TrainSettings
from everloop.students.checkpoints import verify
from everloop.students.synthetic import SyntheticTrainer, Weights, answer_to, trained

DOMAIN, TRAINER = Synthetic(), SyntheticTrainer()
STREAM = Stream(DOMAIN, 1)
FULL = TrainSettings()


def rows(family: str, n: int, start: int = 0) -> list[Row]:
    return [Row(family, item.prompt, item.answer) for item in (DOMAIN.item(family, start + i) for i in range(n))]


def after(before: Weights, given: Sequence[Row], settings: TrainSettings = FULL) -> Weights:
    return trained(before, given, settings, 0)


BASE = after(Weights({}, {}, 0), [row for f in DOMAIN.families() for row in rows(f, DOMAIN.starter_rows(f))])


def test_student_and_domain_agree_on_the_right_answer() -> None:
    assert all(answer_to(p) == domain_answer(p) for p in ("s1:0", "s4:99", "x"))


def test_the_base_knows_two_families_well_and_two_hardly() -> None:
    assert [round(BASE.quality[f], 1) for f in DOMAIN.families()] == [1.0, 1.0, 0.3, 0.3]


def test_new_rows_help_with_diminishing_returns_and_the_same_rows_again_do_not() -> None:
    everything = [row for f in DOMAIN.families() for row in rows(f, DOMAIN.starter_rows(f))]
    assert after(BASE, everything).quality == BASE.quality
    once = after(BASE, everything + rows("s3", 100, 1000))
    twice = after(once, everything + rows("s3", 100, 2000))
    gains = (once.quality["s3"] - BASE.quality["s3"], twice.quality["s3"] - once.quality["s3"])
    assert gains[0] > gains[1] > 0.1 and twice.quality["s3"] < 0.995
    assert once.quality["s4"] == BASE.quality["s4"]


def test_a_family_without_rows_is_forgotten() -> None:
    assert after(BASE, rows("s3", 100, 1000)).quality["s1"] == pytest.approx(0.7 * BASE.quality["s1"])


@pytest.mark.parametrize("settings", [TrainSettings(steps=50), TrainSettings(learning_rate=1e-5)])
def test_too_few_steps_or_too_low_a_rate_gain_less(settings: TrainSettings) -> None:
    new = rows("s3", 100, 1000)
    assert BASE.quality["s3"] < after(BASE, new, settings).quality["s3"] < after(BASE, new).quality["s3"]


def test_a_high_rate_hurts_and_a_wild_one_fails() -> None:
    new = rows("s3", 100, 1000)
    assert after(BASE, new, TrainSettings(learning_rate=0.1)).quality["s3"] < BASE.quality["s3"]
    with pytest.raises(JobFailed, match="nan"):
        after(BASE, new, TrainSettings(learning_rate=5))
    with pytest.raises(InvalidRequest):
        after(BASE, new, TrainSettings(learning_rate=float("nan")))


def test_wrong_rows_hurt() -> None:
    poisoned = [Row("s1", row.prompt, "000000") for row in rows("s1", 100, 5000)]
    assert after(BASE, poisoned).quality["s1"] < 0.1


def checkpoint(folder: Path, name: str, given: Sequence[Row], seed: int = 0, parent: Path | None = None) -> Path:
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in given))
    TRAINER.train(TrainRequest(file, folder / name, parent, seed, FULL), lambda _: None)
    return folder / name


def share(judge: Callable[[Item], bool], items: Sequence[Item]) -> float:
    return sum(judge(item) for item in items) / len(items)


def test_answers_are_right_as_often_as_the_quality_says_and_paired_between_students(tmp_path: Path) -> None:
    given = [row for f in DOMAIN.families() for row in rows(f, DOMAIN.starter_rows(f))]
    items, _ = STREAM.draw("s3", "dev", 3000)
    prompts = [item.prompt for item in items]
    outcomes = []
    for name, seed in (("a", 0), ("b", 1)):
        sampler = TRAINER.sampler(checkpoint(tmp_path, name, given, seed))
        texts = [one[0] for one in sampler.sample(prompts)]
        assert texts == [one[0] for one in sampler.sample(prompts)]
        outcomes.append([DOMAIN.verify(item, text) for item, text in zip(items, texts, strict=True)])
        assert sum(outcomes[-1]) / len(items) == pytest.approx(BASE.quality["s3"], abs=0.04)
    differ = sum(one != other for one, other in zip(*outcomes, strict=True)) / len(items)
    independent = 2 * BASE.quality["s3"] * (1 - BASE.quality["s3"])
    assert 0.05 < differ < 0.6 * independent


def test_samples_differ_by_temperature_and_seed(tmp_path: Path) -> None:
    sampler = TRAINER.sampler(checkpoint(tmp_path, "a", rows("s3", 90)))
    prompts = [item.prompt for item in STREAM.draw("s3", "train", 200)[0]]
    hot = sampler.sample(prompts, k=4, temperature=1.0, seed=1)
    assert hot == sampler.sample(prompts, k=4, temperature=1.0, seed=1)
    assert hot != sampler.sample(prompts, k=4, temperature=1.0, seed=2)
    assert any(len(set(one)) > 1 for one in hot)
    assert all(len(set(one)) == 1 for one in sampler.sample(prompts, k=4))


def test_trainings_repeat_byte_for_byte_and_record_their_parent(tmp_path: Path) -> None:
    one, two = (checkpoint(tmp_path, name, rows("s1", 50)) for name in "ab")
    assert verify(one) == verify(two)
    child = checkpoint(tmp_path, "c", rows("s1", 50, 100), parent=one)
    assert verify(child).parent_sha256 == verify(one).weights_sha256


def test_weights_of_another_trainer_are_corruption() -> None:
    with pytest.raises(CheckpointCorrupt):
        Weights.from_bytes(b'{"other": 1}')


def test_a_training_can_be_made_to_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERLOOP_SYNTHETIC_SECONDS", "0.3")
    begun = time.monotonic()
    checkpoint(tmp_path, "a", rows("s1", 5))
    assert time.monotonic() - begun >= 0.3
