"""How often a gate fails though nothing changed: the worked case, and every outcome there is for small suites."""

import json
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.stats.false_gate_rate import false_gate_rate
from evalplatform.stats.fisher_drop import Margins, drop_tails, most_baseline_passes, table_ways, ways
from evalplatform.stats.pass_counts import PassCount
from evalplatform.stats.stratified_drop import exact_stratified_drop_p
from evalplatform.stats.tarone import tarone_threshold

CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]
SINGLE, SUITE = Fraction(1, 25), Fraction(1, 100)

margins_of_few_runs = st.tuples(st.integers(2, 7), st.integers(2, 7)).flatmap(
    lambda runs: st.tuples(st.just(runs[0]), st.just(runs[1]), st.integers(0, sum(runs)))
)


def by_every_outcome(margins: list[Margins]) -> tuple[Fraction, Fraction]:
    """Oracle: every combination of tables with these margins, weighed by its ways; flags and suite p-values in fractions."""
    threshold = tarone_threshold([Fraction(drop_tails(each)[0], ways(each)) for each in margins], level=SINGLE)
    single = suite_only = Fraction(0)
    for tables in product(*(range(max(0, each[2] - each[1]), most_baseline_passes(each) + 1) for each in margins)):
        chance = prod((Fraction(table_ways(each, k), ways(each)) for each, k in zip(margins, tables, strict=True)), start=Fraction(1))
        tails = [
            Fraction(sum(table_ways(each, a) for a in range(k, most_baseline_passes(each) + 1)), ways(each))
            for each, k in zip(margins, tables, strict=True)
        ]
        if any(tail <= threshold for tail in tails):
            single += chance
            continue
        sides = [
            (PassCount(passed=k, graded=each[0]), PassCount(passed=each[2] - k, graded=each[1]))
            for each, k in zip(margins, tables, strict=True)
        ]
        suite_only += chance if exact_stratified_drop_p(sides) <= SUITE else 0
    return single, suite_only


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "gate_false_rate"], ids=lambda case: case["id"])
def test_the_worked_case(case: dict[str, Any]) -> None:
    rate = false_gate_rate([tuple(each) for each in case["input"]["margins"]])
    found = {"single": rate.single, "suite_only": rate.suite_only, "total": rate.total}
    assert found == pytest.approx(case["expect"], rel=1e-12, abs=0)


@settings(deadline=None, max_examples=40)
@given(st.lists(margins_of_few_runs, max_size=3))
def test_it_is_the_share_of_every_outcome_that_fails(margins: list[Margins]) -> None:
    rate = false_gate_rate(margins)
    single, suite_only = by_every_outcome(margins)
    assert rate.single == pytest.approx(float(single), abs=1e-12)
    assert rate.suite_only == pytest.approx(float(suite_only), abs=1e-12)


def test_a_suite_test_that_fails_alone_is_counted() -> None:
    """Eight scenarios of which each can lose one run in ten at most: none can be flagged, all of them together can."""
    rate = false_gate_rate([(10, 10, 19)] * 8)
    assert rate.single == 0.0
    assert rate.suite_only == pytest.approx(2**-8, rel=1e-12)


def test_a_suite_p_value_that_is_the_level_counts() -> None:
    rate = false_gate_rate([(10, 10, 19)] * 3, suite_level=Fraction(1, 8))
    assert rate.total == pytest.approx(1 / 8, rel=1e-12)
    assert false_gate_rate([(10, 10, 19)] * 3, suite_level=Fraction(1, 8) - Fraction(1, 10**12)).total == 0.0


def test_scenarios_that_always_pass_or_never_do_change_nothing() -> None:
    margins = [(10, 10, 16), (10, 10, 15), (10, 10, 18)]
    assert false_gate_rate([*margins, (10, 10, 20), (20, 12, 32), (10, 10, 0)]) == false_gate_rate(margins)
    assert false_gate_rate([]).total == 0.0


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.sampled_from([(4, 4), (10, 10), (20, 12)]), st.integers(0, 32)), min_size=1, max_size=60))
def test_it_never_exceeds_one_in_twenty(drawn: list[tuple[tuple[int, int], int]]) -> None:
    margins = [(*runs, passes % (sum(runs) + 1)) for runs, passes in drawn]
    rate = false_gate_rate(margins)
    assert rate.single <= 0.04
    assert rate.suite_only <= 0.01
