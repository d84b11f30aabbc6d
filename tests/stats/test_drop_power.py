"""How surely a drop is caught, and how few runs that takes."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.stats.drop_power import (
    MOST_RUNS,
    WANTED_POWER,
    any_drop_power,
    fewest_runs_to_catch,
    is_verifiable,
    significance_power,
)
from evalplatform.stats.pass_counts import PassCount

CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]
LEVEL = Fraction(1, 25)


def of_kind(kind: str) -> list[dict]:
    return [case for case in CASES if case["kind"] == kind]


def history(passed: int, graded: int) -> PassCount:
    return PassCount(passed=passed, graded=graded)


@pytest.mark.parametrize("case", of_kind("runs_needed"), ids=lambda case: case["id"])
def test_the_worked_numbers_of_runs(case: dict) -> None:
    given_ = case["input"]
    threshold = None if given_["tier"] == "critical" else LEVEL / given_["K"]
    runs = fewest_runs_to_catch(history(given_["k"], given_["n"]), target_drop_points=given_["target_points"], threshold=threshold)
    assert runs == case["expect"]["runs"]


@pytest.mark.parametrize("case", of_kind("power_standard"), ids=lambda case: case["id"])
def test_the_worked_power(case: dict) -> None:
    given_ = case["input"]
    power = significance_power(
        history(given_["k1"], given_["n1"]), given_["n2"], pass_rate=Fraction(given_["p_new"]), threshold=LEVEL / given_["K"]
    )
    assert float(power) == case["expect"]["power"]


@pytest.mark.parametrize(
    ("k", "tests", "runs"), [(20, 1, 5), (20, 2, 8), (20, 3, 10), (20, 5, 10), (20, 11, 15), (20, 38, 21), (18, 6, 17), (16, 6, 22)]
)
def test_more_tests_and_flakier_histories_need_more_runs(k: int, tests: int, runs: int) -> None:
    assert fewest_runs_to_catch(history(k, 20), target_drop_points=50, threshold=LEVEL / tests) == runs


def test_power_does_not_rise_with_every_further_run() -> None:
    powers = {
        runs: float(significance_power(history(20, 20), runs, pass_rate=Fraction(1, 2), threshold=LEVEL / 5)) for runs in (10, 11, 12)
    }
    assert powers[10] >= 0.8 > powers[11]
    assert powers[11] == pytest.approx(0.726, abs=5e-4)
    assert powers[12] >= 0.8


@pytest.mark.parametrize(
    ("baseline", "candidate", "verifiable"),
    [(1, 10, False), (1, 20, False), (2, 2, False), (3, 3, False), (3, 4, True), (4, 4, True), (2, 10, True), (1, 24, True), (0, 9, False)],
)
def test_what_counts_alone_can_show(baseline: int, candidate: int, verifiable: bool) -> None:
    assert is_verifiable(baseline, candidate) is verifiable


@settings(max_examples=30, deadline=None)
@given(st.integers(10, 20), st.data(), st.integers(1, 19))
def test_the_fewest_runs_suffice_and_no_fewer_that_can_show_anything_do(graded: int, data: st.DataObject, points: int) -> None:
    baseline = history(data.draw(st.integers(graded // 2, graded)), graded)
    target = 5 * points
    runs = fewest_runs_to_catch(baseline, target_drop_points=target, threshold=None)
    dropped = baseline.pass_rate - Fraction(target, 100)
    if dropped < 0:
        assert runs is None
        return
    suffices = [
        number
        for number in range(2, MOST_RUNS + 1)
        if is_verifiable(graded, number) and any_drop_power(baseline, number, pass_rate=dropped) >= WANTED_POWER
    ]
    assert runs == (suffices[0] if suffices else None)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.data())
def test_any_drop_is_caught_at_least_as_often_as_a_significant_one(runs: int, data: st.DataObject) -> None:
    baseline = history(data.draw(st.integers(0, 10)), 10)
    rate = Fraction(data.draw(st.integers(0, 20)), 20)
    significant = significance_power(baseline, runs, pass_rate=rate, threshold=LEVEL)
    assert 0 <= significant <= any_drop_power(baseline, runs, pass_rate=rate) <= 1
