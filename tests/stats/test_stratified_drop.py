"""The stratified test: a drop that is spread over many scenarios, exact however small its p-value is."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.kernel.errors import NoGradedRunsError
from evalplatform.stats.fisher_drop import fisher_drop_p, margins_of, most_baseline_passes, table_ways, ways
from evalplatform.stats.pass_counts import PassCount
from evalplatform.stats.stratified_drop import SidePair, exact_stratified_drop_p, is_stratified_drop, stratified_drop_p

CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]


def count(passed: int, graded: int) -> PassCount:
    return PassCount(passed=passed, graded=graded)


def pair(k1: int, n1: int, k2: int, n2: int) -> SidePair:
    return count(k1, n1), count(k2, n2)


@st.composite
def pairs(draw: st.DrawFn, most_runs: int = 8) -> SidePair:
    sides = []
    for _ in range(2):
        graded = draw(st.integers(1, most_runs))
        sides.append(count(draw(st.integers(0, graded)), graded))
    return sides[0], sides[1]


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "stratified"], ids=lambda case: case["id"])
def test_the_worked_cases(case: dict) -> None:
    scenarios = [pair(*table) for table in case["input"]["tables"]]
    assert stratified_drop_p(scenarios) == pytest.approx(case["expect"]["p"], rel=1e-12)


@settings(max_examples=150)
@given(st.lists(pairs(), max_size=6))
def test_it_is_the_exact_value_to_nine_digits(scenarios: list[SidePair]) -> None:
    assert stratified_drop_p(scenarios) == pytest.approx(float(exact_stratified_drop_p(scenarios)), rel=1e-9)


@settings(max_examples=50)
@given(st.lists(pairs(most_runs=4), min_size=1, max_size=3))
def test_the_exact_value_counts_every_way_the_passes_can_lie(scenarios: list[SidePair]) -> None:
    """Oracle: every combination of tables with these margins, weighed by its ways."""
    margins = [margins_of(*sides) for sides in scenarios]
    observed = sum(baseline.passed for baseline, _ in scenarios)
    extreme = every = 0
    for tables in product(*(range(max(0, each[2] - each[1]), most_baseline_passes(each) + 1) for each in margins)):
        weight = 1
        for each, passes in zip(margins, tables, strict=True):
            weight *= table_ways(each, passes)
        every += weight
        extreme += weight if sum(tables) >= observed else 0
    assert exact_stratified_drop_p(scenarios) == Fraction(extreme, every)


@given(pairs(most_runs=50))
def test_of_one_scenario_it_is_fishers_test(sides: SidePair) -> None:
    assert stratified_drop_p([sides]) == pytest.approx(float(fisher_drop_p(*sides)), rel=1e-9)


@settings(max_examples=50)
@given(st.lists(pairs(), min_size=1, max_size=5), st.randoms())
def test_neither_order_nor_scenarios_that_can_show_nothing_change_it(scenarios: list[SidePair], shuffler: Random) -> None:
    others = [*scenarios, pair(4, 4, 4, 4), pair(0, 3, 0, 5)]
    shuffler.shuffle(others)
    assert stratified_drop_p(others) == pytest.approx(stratified_drop_p(scenarios), rel=1e-9)


def test_without_scenarios_there_is_no_drop() -> None:
    assert stratified_drop_p([]) == 1.0
    assert not is_stratified_drop([], level=Fraction(1, 100))


def test_seven_scenarios_that_each_lost_one_of_ten_are_a_drop_and_six_are_none() -> None:
    lost_one = pair(10, 10, 9, 10)
    assert stratified_drop_p([lost_one] * 7) == pytest.approx(2**-7, rel=1e-12)
    assert is_stratified_drop([lost_one] * 7, level=Fraction(1, 100))
    assert not is_stratified_drop([lost_one] * 6, level=Fraction(1, 100))


def test_a_p_value_at_the_level_counts_and_one_just_above_does_not() -> None:
    scenarios = [pair(10, 10, 9, 10)] * 3
    assert is_stratified_drop(scenarios, level=Fraction(1, 8))
    assert not is_stratified_drop(scenarios, level=Fraction(1, 8) - Fraction(1, 10**12))


def test_a_tiny_p_value_keeps_its_digits() -> None:
    scenarios = [pair(20, 20, 12, 20)] * 8
    exact = float(exact_stratified_drop_p(scenarios))
    assert exact < 1e-15
    assert stratified_drop_p(scenarios) == pytest.approx(exact, rel=1e-9)
    assert ways(margins_of(*scenarios[0])) > 1


def test_a_side_without_graded_runs_is_refused() -> None:
    with pytest.raises(NoGradedRunsError, match="candidate"):
        stratified_drop_p([(count(1, 2), count(0, 0))])
