"""Collecting experiences: what counts, what is kept, how it is balanced."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from everloop.domains.base import Item
from everloop.domains.synthetic import Synthetic
from everloop.experience.collector import balanced, collect, deduplicated
from everloop.experience.filter import Ending, Record, sort

DOMAIN = Synthetic()


def items(family: str, n: int) -> list[Item]:
    return [DOMAIN.item(family, index) for index in range(n)]


def gathered(given: list[Item], outcomes: list[bool | None], per_family: int = 8) -> list[str]:
    found = collect(DOMAIN, given, ["000001"] * len(given), outcomes, per_family=per_family)
    return [one.goal for one in found]


def test_a_failure_becomes_an_experience_with_five_fields() -> None:
    (found,) = collect(DOMAIN, items("s1", 1), ["000001"], [False], per_family=1)
    assert (found.family, found.goal, found.action) == ("s1", "s1:0", "000001")
    assert found.observed and "wrong" in found.feedback and "s1" in found.improvement


def test_right_and_missing_answers_are_no_failures() -> None:
    assert gathered(items("s1", 3), [True, None, False]) == ["s1:2"]


def test_duplicates_are_kept_once_and_families_are_balanced() -> None:
    many = items("s1", 5) + items("s1", 2) + items("s2", 1)
    assert gathered(many, [False] * 8, per_family=3) == ["s1:0", "s1:1", "s1:2", "s2:0"]
    assert gathered(items("s1", 2) * 4, [False] * 8) == ["s1:0", "s1:1"]


def test_a_mastered_family_gives_none_and_missing_outcomes_do_not_count_for_its_rate() -> None:
    assert gathered(items("s1", 50), [False] + [True] * 49) == []
    assert gathered(items("s1", 50), [False] + [True] * 48 + [None]) == ["s1:0"]


def test_records_are_sorted_into_valid_faults_and_noise() -> None:
    item = DOMAIN.item("s1", 0)
    good, no_outcome = Record(item, "1", outcome=False), Record(item, "1", outcome=None)
    no_answer, slow = Record(item, None, outcome=False), Record(item, "1", outcome=True, ending=Ending.TIMEOUT)
    aborted, failed = (Record(item, None, None, ending) for ending in (Ending.ABORTED, Ending.SYSTEM_ERROR))
    result = sort([slow, good, no_outcome, aborted, no_answer, failed])
    assert result.valid == (good,)
    assert result.environment_faults == (no_outcome, no_answer)
    assert result.noise == (slow, aborted, failed)


@given(st.lists(st.tuples(st.sampled_from(["s1", "s2"]), st.integers(0, 5))), st.integers(0, 4))
def test_deduplication_and_balance_keep_firsts_in_order(asked: list[tuple[str, int]], most: int) -> None:
    given = [DOMAIN.item(family, index) for family, index in asked]
    made = [one for item in given for one in collect(DOMAIN, [item], ["000001"], [False], per_family=1)]
    kept = balanced(deduplicated(made), most)
    hashes = [one.content_hash for one in kept]
    assert len(set(hashes)) == len(hashes)
    assert all(sum(one.family == family for one in kept) <= most for family in ("s1", "s2"))
    assert [one.goal for one in kept] == [one.goal for one in deduplicated(made) if one in kept]
