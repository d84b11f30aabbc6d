"""Exact tests of a drop: worked numbers, and what must hold of every table."""

import json
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from evalplatform.kernel.errors import NoGradedRunsError
from evalplatform.stats.boschloo_drop import (
    boschloo_drop_bounds,
    boschloo_drop_p,
    can_flag,
    chance_of_a_flag,
    flag_table,
    is_flagged,
    most_passes_flagged,
)
from evalplatform.stats.fisher_drop import fisher_drop_p, smallest_fisher_drop_p
from evalplatform.stats.pass_counts import PassCount, is_drop
from evalplatform.stats.repeated_runs import chance_of_at_least, drift_rule

CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]


def cases(kind: str) -> list[Any]:
    return [pytest.param(case["input"], case["expect"], id=case["id"]) for case in CASES if case["kind"] == kind]


def count(passed: int, graded: int) -> PassCount:
    return PassCount(passed=passed, graded=graded)


def of_text(text: str) -> PassCount:
    passed, _, graded = text.partition("/")
    return count(int(passed), int(graded))


counts = st.integers(1, 14).flatmap(lambda graded: st.builds(count, st.integers(0, graded), st.just(graded)))


@pytest.mark.parametrize(("given_", "expected"), cases("boschloo"))
def test_a_worked_drop_has_its_p_values_and_its_flag(given_: dict[str, int], expected: dict[str, Any]) -> None:
    baseline, candidate = count(given_["k1"], given_["n1"]), count(given_["k2"], given_["n2"])
    assert boschloo_drop_p(baseline, candidate) == pytest.approx(expected["p"], rel=1e-9)
    assert float(fisher_drop_p(baseline, candidate)) == expected["fisher"]
    assert is_flagged(baseline, candidate) == expected["flagged"]


@pytest.mark.parametrize(("given_", "expected"), cases("smallest_detectable"))
def test_the_smallest_drop_that_is_flagged_is_the_worked_one(given_: dict[str, int], expected: dict[str, Any]) -> None:
    assert most_passes_flagged(given_["n1"], given_["n2"]) == expected["max_k2_from_full"]
    assert can_flag(given_["n1"], given_["n2"]) == expected["can_flag"]


@pytest.mark.parametrize(("given_", "expected"), cases("run_set_report"))
def test_flags_expected_by_chance_are_the_worked_ones(given_: dict[str, Any], expected: dict[str, Any]) -> None:
    tables = [(count(k1, n1), count(k2, n2)) for k1, n1, k2, n2 in given_["tables"]]
    chances = [chance_of_a_flag(*table) for table in tables]
    assert sum(is_flagged(*table) for table in tables) == expected["flagged"]
    assert float(sum(chances)) == pytest.approx(expected["expected"], rel=1e-12)
    assert float(chance_of_at_least(expected["flagged"], chances)) == pytest.approx(expected["tail"], rel=1e-12)


def test_the_documented_numbers_of_run_sets_and_of_the_sentinel_are_these() -> None:
    """Pitfall X03, to the digits that documents print."""
    pitfalls = json.loads((Path(__file__).parents[1] / "cases" / "pitfalls.json").read_text(encoding="utf-8"))
    worked = next(pitfall for pitfall in pitfalls if pitfall["id"] == "X03")["input"]
    for baseline, candidate, p in worked["boschloo"]:
        assert round(boschloo_drop_p(of_text(baseline), of_text(candidate)), 3) == p
    for baseline, candidate, p in worked["fisher"]:
        assert round(float(fisher_drop_p(of_text(baseline), of_text(candidate))), 4) == p
    for night in worked["sentinel"]:
        rule = drift_rule(night["graded"], fail_rate=0.10)
        assert (rule.drift_at, round(rule.null_rate, 4)) == (night["drift_at"], night["null"])


@pytest.mark.parametrize(("baseline_runs", "candidate_runs"), [(1, 4), (1, 6), (2, 2)])
def test_so_few_runs_cannot_flag(baseline_runs: int, candidate_runs: int) -> None:
    assert not can_flag(baseline_runs, candidate_runs)


@pytest.mark.parametrize(("baseline_runs", "candidate_runs"), [(1, 7), (2, 3), (4, 4)])
def test_from_so_many_runs_on_a_collapse_is_flagged(baseline_runs: int, candidate_runs: int) -> None:
    assert can_flag(baseline_runs, candidate_runs)


def test_mirror_ties_are_counted() -> None:
    # (4, 1) and its mirror (3, 0) are one tie of Fisher's p-values; floats lose it and give 0.0232.
    assert boschloo_drop_p(count(4, 4), count(1, 4)) == pytest.approx(9 / 256, rel=1e-12)


def test_a_level_that_is_met_exactly_is_met() -> None:
    assert fisher_drop_p(count(24, 24), count(0, 1)) == Fraction(1, 25)
    assert smallest_fisher_drop_p(count(24, 24), count(0, 1)) <= Fraction(4, 100)


@given(counts, counts)
@settings(deadline=None)
def test_boschloo_is_never_above_fisher_and_its_bounds_are_close(baseline: PassCount, candidate: PassCount) -> None:
    bounds = boschloo_drop_bounds(baseline, candidate)
    assert 0 < bounds.lo <= bounds.hi <= 1
    assert bounds.hi <= bounds.lo * (1 + 1e-9)
    assert bounds.lo <= fisher_drop_p(baseline, candidate)
    assert smallest_fisher_drop_p(baseline, candidate) <= fisher_drop_p(baseline, candidate) <= 1


@given(counts, counts, st.integers(0, 64).map(lambda parts: Fraction(parts, 64)))
@settings(deadline=None)
def test_at_no_common_pass_rate_are_extreme_tables_likelier_than_the_bound(
    baseline: PassCount, candidate: PassCount, rate: Fraction
) -> None:
    def binomial(passed: int, graded: int) -> Fraction:
        return comb(graded, passed) * rate**passed * (1 - rate) ** (graded - passed)

    observed = fisher_drop_p(baseline, candidate)
    chance = sum(
        binomial(a, baseline.graded) * binomial(b, candidate.graded)
        for a, b in product(range(baseline.graded + 1), range(candidate.graded + 1))
        if fisher_drop_p(count(a, baseline.graded), count(b, candidate.graded)) <= observed
    )
    assert chance <= boschloo_drop_bounds(baseline, candidate).hi


@given(counts, counts)
@settings(deadline=None)
def test_one_more_failure_of_the_candidate_never_takes_a_flag_away(baseline: PassCount, candidate: PassCount) -> None:
    if candidate.passed > 0:
        worse = count(candidate.passed - 1, candidate.graded)
        assert fisher_drop_p(baseline, worse) <= fisher_drop_p(baseline, candidate)
        assert boschloo_drop_p(baseline, worse) <= boschloo_drop_p(baseline, candidate) * (1 + 1e-9)
        assert is_flagged(baseline, worse) or not is_flagged(baseline, candidate)


@given(counts, counts)
@settings(deadline=None)
def test_the_chance_of_a_flag_is_that_of_dealing_the_runs_at_random(baseline: PassCount, candidate: PassCount) -> None:
    from scipy.stats import hypergeom

    passes = baseline.passed + candidate.passed
    dealt = hypergeom(baseline.graded + candidate.graded, passes, baseline.graded)
    tables = range(max(0, passes - candidate.graded), min(baseline.graded, passes) + 1)
    flagged = [a for a in tables if is_flagged(count(a, baseline.graded), count(passes - a, candidate.graded))]
    assert float(chance_of_a_flag(baseline, candidate)) == pytest.approx(sum(dealt.pmf(a) for a in flagged), abs=1e-12)


@pytest.mark.parametrize(("baseline_graded", "candidate_graded"), [(1, 4), (1, 7), (2, 3), (4, 4), (7, 13), (10, 10), (13, 7)])
def test_a_table_of_flags_says_of_each_drop_what_its_own_p_value_says(baseline_graded: int, candidate_graded: int) -> None:
    for baseline_passed, most in enumerate(flag_table(baseline_graded, candidate_graded)):
        sides = [(count(baseline_passed, baseline_graded), count(passed, candidate_graded)) for passed in range(candidate_graded + 1)]
        assert [is_flagged(*each) for each in sides] == [most is not None and passed <= most for passed in range(candidate_graded + 1)]


@pytest.mark.parametrize("level", [Fraction(1, 1000), Fraction(1, 3), Fraction(1)])
def test_flags_at_other_levels_are_those_of_the_p_values(level: Fraction) -> None:
    for baseline_passed, most in enumerate(flag_table(5, 6, level=level)):
        sides = [(count(baseline_passed, 5), count(passed, 6)) for passed in range(7)]
        assert [is_flagged(*each, level=level) for each in sides] == [most is not None and passed <= most for passed in range(7)]


def test_equal_rates_of_unequal_counts_are_no_drop() -> None:
    assert not is_drop(count(1, 3), count(2, 6))
    assert is_drop(count(1, 3), count(1, 4))
    assert count(1, 3).pass_rate == count(2, 6).pass_rate


@pytest.mark.parametrize("function", [is_drop, fisher_drop_p, smallest_fisher_drop_p, boschloo_drop_p, is_flagged, chance_of_a_flag])
def test_a_side_without_a_graded_run_is_refused_by_name(function: Any) -> None:
    with pytest.raises(NoGradedRunsError, match="the baseline was graded"):
        function(count(0, 0), count(1, 2))
    with pytest.raises(NoGradedRunsError, match="the candidate was graded"):
        function(count(1, 2), count(0, 0))
    with pytest.raises(NoGradedRunsError, match="the baseline was graded"):
        flag_table(0, 3)


def test_there_is_no_rate_of_no_run_and_no_more_passes_than_runs() -> None:
    with pytest.raises(NoGradedRunsError, match="no pass rate"):
        _ = count(0, 0).pass_rate
    with pytest.raises(ValidationError, match="3 passed of 2 graded runs"):
        count(3, 2)
