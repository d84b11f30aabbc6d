"""Where a scenario's results changed: rarely by chance, whatever its pass rate."""

import json
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from evalplatform.stats.change_point import FEWEST_A_SIDE, LEVEL, chance_of_a_split_at, cut_threshold, runs_since_change, split_p

CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]


def of_kind(kind: str) -> list[dict]:
    return [case for case in CASES if case["kind"] == kind]


@pytest.mark.parametrize("case", of_kind("change_point"), ids=lambda case: case["id"])
def test_the_worked_pools(case: dict) -> None:
    results = [letter == "1" for letter in case["input"]["oldest_to_newest"]]
    assert runs_since_change(results) == case["expect"]["keep_newest"]


@pytest.mark.parametrize("case", of_kind("cp_threshold"), ids=lambda case: case["id"])
def test_the_worked_threshold(case: dict) -> None:
    runs, passed = case["input"]["n"], case["input"]["passes"]
    threshold = cut_threshold(runs, passed)
    assert threshold == Fraction(case["expect"]["threshold"])
    assert float(chance_of_a_split_at(threshold, runs, passed)) == pytest.approx(case["expect"]["tail"], rel=1e-12)


@pytest.mark.parametrize(
    ("runs", "percent"), [(8, 0.78), (10, 0.59), (12, 2.64), (14, 3.59), (16, 3.57), (18, 3.40), (19, 3.80), (20, 4.13)]
)
def test_an_unchanged_pool_is_cut_at_most_so_often_whatever_its_pass_rate(runs: int, percent: float) -> None:
    cuts = [
        float(chance_of_a_split_at(level, runs, passed)) if (level := cut_threshold(runs, passed)) is not None else 0.0
        for passed in range(runs + 1)
    ]
    worst = max(
        sum(comb(runs, passed) * rate**passed * (1 - rate) ** (runs - passed) * cuts[passed] for passed in range(runs + 1))
        for rate in (number / 200 for number in range(1, 200))
    )
    assert 100 * worst == pytest.approx(percent, abs=0.01)


@pytest.mark.parametrize(("runs", "passed"), [(8, 4), (9, 3), (10, 5), (11, 8)])
def test_the_chance_is_that_of_all_orders_tried_out(runs: int, passed: int) -> None:
    """Oracle: every order of the passes, with the least p-value over its splits."""
    least = []
    for places in combinations(range(runs), passed):
        results = [place in places for place in range(runs)]
        least.append(min(split_p(before, sum(results[:before]), runs, passed) for before in range(FEWEST_A_SIDE, runs - FEWEST_A_SIDE + 1)))
    for level in sorted(set(least)):
        assert chance_of_a_split_at(level, runs, passed) == Fraction(sum(p <= level for p in least), len(least))
    rare = {level for level in least if Fraction(sum(p <= level for p in least), len(least)) <= LEVEL}
    threshold = cut_threshold(runs, passed)
    assert {level for level in least if threshold is not None and level <= threshold} == rare


@settings(max_examples=60, deadline=None)
@given(st.integers(8, 20), st.data())
def test_the_p_value_of_a_split_is_scipys(runs: int, data: st.DataObject) -> None:
    before = data.draw(st.integers(FEWEST_A_SIDE, runs - FEWEST_A_SIDE))
    first, second = data.draw(st.integers(0, before)), data.draw(st.integers(0, runs - before))
    table = [[first, before - first], [second, runs - before - second]]
    assert float(split_p(before, first, runs, first + second)) == pytest.approx(scipy_stats.fisher_exact(table).pvalue, rel=1e-9)


def test_a_pool_that_rose_is_cut_as_one_that_fell() -> None:
    fell = [True] * 15 + [False] * 5
    assert runs_since_change(fell) == runs_since_change([not result for result in fell]) == 5


def test_after_several_changes_the_newest_part_is_left() -> None:
    assert runs_since_change([True] * 12 + [False] * 12 + [True] * 12) == 12


def test_fewer_than_eight_runs_show_no_change() -> None:
    assert runs_since_change([True] * 4 + [False] * 3) is None
    assert runs_since_change([]) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), max_size=24))
def test_what_is_left_is_a_newest_part_of_at_least_four_without_a_further_change(results: list[bool]) -> None:
    left = runs_since_change(results)
    if left is not None:
        assert 4 <= left < len(results)
        assert runs_since_change(results[len(results) - left :]) is None
