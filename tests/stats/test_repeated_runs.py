"""Flakes, drift and multiplicity: worked numbers, and the false alarms of a suite in which nothing changed."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.stats.fisher_drop import fisher_drop_p, smallest_fisher_drop_p
from evalplatform.stats.pass_counts import PassCount
from evalplatform.stats.repeated_runs import chance_of_at_least, drift_rule, exact_rate, flake_detection_rate
from evalplatform.stats.tarone import tarone_k, tarone_threshold

HERE = Path(__file__).parents[1] / "cases"
CASES = json.loads((HERE / "gates.json").read_text(encoding="utf-8"))["cases"]
PITFALLS = {pitfall["id"]: pitfall["input"] for pitfall in json.loads((HERE / "pitfalls.json").read_text(encoding="utf-8"))}
GATE_LEVEL = Fraction(1, 25)


def cases(kind: str) -> list[Any]:
    return [pytest.param(case["input"], case["expect"], id=case["id"]) for case in CASES if case["kind"] == kind]


@pytest.mark.parametrize(("given_", "expected"), cases("sentinel_k"))
def test_a_night_drifts_from_the_worked_number_of_failures_on(given_: dict[str, Any], expected: dict[str, Any]) -> None:
    rule = drift_rule(given_["n"], fail_rate=Fraction(given_["fail_rate"]), level=Fraction(given_["alpha"]))
    assert (rule.drift_at, rule.null_rate) == (expected["k"], pytest.approx(expected["chance"], rel=1e-12))


def test_a_fail_rate_of_one_in_twenty_with_one_run_stands_exactly_at_the_level() -> None:
    assert drift_rule(1, fail_rate=0.05).drift_at == 1
    assert drift_rule(1, fail_rate=0.05).null_rate == 0.05


def test_a_night_without_a_graded_run_never_reads_as_clean() -> None:
    assert drift_rule(0, fail_rate=0.1).drift_at == 0


def test_five_runs_catch_a_coin_flip_flake_with_15_in_16() -> None:
    """Pitfall X05: 1 - p^n - (1-p)^n by enumeration; 97% would forget that five failures in a row look steady too."""
    runs, fail_rate = PITFALLS["X05"]["n"], PITFALLS["X05"]["p"]
    patterns = list(product((True, False), repeat=runs))
    disagreeing = sum(len(set(pattern)) == 2 for pattern in patterns)
    assert flake_detection_rate(fail_rate, runs) == Fraction(disagreeing, len(patterns)) == Fraction(9375, 10_000)


@given(st.integers(0, 100).map(lambda percent: percent / 100), st.integers(0, 9))
def test_a_flake_is_as_easily_caught_whether_it_fails_or_passes_so_often(fail_rate: float, runs: int) -> None:
    rate = flake_detection_rate(fail_rate, runs)
    assert rate == flake_detection_rate(1 - exact_rate(fail_rate), runs)
    assert 0 <= rate <= flake_detection_rate(fail_rate, runs + 1) <= 1


@pytest.mark.parametrize(("rate", "runs"), [(-0.1, 3), (1.1, 3), (0.5, -1)])
def test_what_is_no_rate_and_no_number_of_runs_is_refused(rate: float, runs: int) -> None:
    with pytest.raises(ValueError, match=r"rate|runs"):
        flake_detection_rate(rate, runs)
    with pytest.raises(ValueError, match=r"rate|runs"):
        drift_rule(runs, fail_rate=rate)


@given(st.lists(st.integers(0, 8).map(lambda eighths: Fraction(eighths, 8)), max_size=5), st.integers(-1, 6))
def test_the_chance_of_some_events_is_that_of_all_their_outcomes(rates: list[Fraction], events: int) -> None:
    expected = Fraction(0)
    for outcome in product((True, False), repeat=len(rates)):
        chance = Fraction(1)
        for happens, rate in zip(outcome, rates, strict=True):
            chance *= rate if happens else 1 - rate
        expected += chance if sum(outcome) >= events else 0
    assert chance_of_at_least(events, rates) == expected


RUNS = 10


def tables() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Fisher's p-value of every table of ten against ten runs, and the smallest of every margin, as ranks that fractions decided."""
    count = {passed: PassCount(passed=passed, graded=RUNS) for passed in range(RUNS + 1)}
    p = np.array([[fisher_drop_p(count[a], count[b]) for b in count] for a in count])
    smallest = np.array([smallest_fisher_drop_p(count[min(m, RUNS)], count[m - min(m, RUNS)]) for m in range(2 * RUNS + 1)])
    return p, smallest


def test_a_hundred_flaky_scenarios_fail_a_gate_at_most_one_night_in_twenty() -> None:
    """Pitfall X04: any-of-100 at 5% fails 99.4% of nights; single drops at Tarone's threshold stay below their 4%."""
    scenarios, fail_rate, nights = (PITFALLS["X04"][name] for name in ("scenarios", "fail_rate", "nights"))
    rng = np.random.default_rng(20_240)
    baseline, candidate = (rng.binomial(RUNS, 1 - fail_rate, (nights, scenarios)) for _ in range(2))
    p, smallest = tables()
    ks = np.arange(1, scenarios + 1)
    reaches = np.array([[each <= GATE_LEVEL / int(k) for each in smallest] for k in ks])  # K x margin
    rejects = np.array([p <= GATE_LEVEL / int(k) for k in ks])  # K x baseline passes x candidate passes
    margins = baseline + candidate
    testable = np.array([row[margins].sum(axis=1) for row in reaches])  # K x night
    k_of_night = np.argmax(testable <= ks[:, None], axis=0)  # the first K that is large enough, from 0
    false_gates = rejects[k_of_night[:, None], baseline, candidate].any(axis=1)
    assert false_gates.mean() <= 1 / 20
    # The rule that this replaces, on the same nights: one run a scenario, any failure fails the suite.
    any_failure = (rng.random((nights, scenarios)) < fail_rate).any(axis=1)
    assert any_failure.mean() == pytest.approx(1 - (1 - fail_rate) ** scenarios, abs=0.006)
    # What the test looks up is what the functions say of one night.
    of_night = [smallest[margin] for margin in margins[0]]
    assert tarone_k(of_night, level=GATE_LEVEL) == k_of_night[0] + 1


def test_a_collapsed_scenario_among_a_hundred_flaky_ones_still_gates() -> None:
    """The other side of the bound: a threshold that never fires would pass the test above."""
    rng = np.random.default_rng(7)
    caught = 0
    for _ in range(20):
        passed = rng.binomial(RUNS, 0.95, (2, 100))
        passed[:, 0] = (RUNS, 0)
        sides = [[PassCount(passed=int(each), graded=RUNS) for each in side] for side in passed]
        threshold = tarone_threshold([smallest_fisher_drop_p(*pair) for pair in zip(*sides, strict=True)], level=GATE_LEVEL)
        caught += fisher_drop_p(sides[0][0], sides[1][0]) <= threshold
    assert caught == 20
