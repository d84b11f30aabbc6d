"""The flags that chance alone would give, by dealing the same runs to the two sides in every way there is."""

from collections.abc import Sequence
from functools import cache
from itertools import combinations, product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalplatform.comparisons.batches.records import RunSetCount, RunSetReport
from evalplatform.comparisons.batches.run_sets import RunSetTally
from evalplatform.stats.pass_counts import PassCount

Table = tuple[int, int, int, int]
"""Passes and graded runs of the baseline, then of the candidate."""

tables = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda graded: st.tuples(st.integers(0, graded[0]), st.just(graded[0]), st.integers(0, graded[1]), st.just(graded[1]))
)


@cache
def is_flagged(table: Table) -> bool:
    """Whether SciPy finds a drop at 0.05. No table of these sizes has a p-value so near to it that its search could matter."""
    k1, n1, k2, n2 = table
    if k2 * n1 >= k1 * n2:
        return False
    return float(stats.boschloo_exact([[k1, k2], [n1 - k1, n2 - k2]], alternative="greater").pvalue) <= 0.05


@cache
def dealt_flag_rate(table: Table) -> float:
    """How often a flag comes when the passes lie among all runs in every possible way, each as likely."""
    k1, n1, k2, n2 = table
    ways = [sum(place < n1 for place in places) for places in combinations(range(n1 + n2), k1 + k2)]
    return sum(is_flagged((before, n1, k1 + k2 - before, n2)) for before in ways) / len(ways)


def tail_by_every_outcome(rates: Sequence[float], flags: int) -> float:
    every = product((False, True), repeat=len(rates))
    return sum(prod(q if hit else 1 - q for q, hit in zip(rates, hits, strict=True)) for hits in every if sum(hits) >= flags)


def report(made: Sequence[Table]) -> RunSetReport | None:
    tally = RunSetTally()
    for place, (k1, n1, k2, n2) in enumerate(made):
        sides = (RunSetCount(passes=PassCount(passed=k, graded=n)) for k, n in ((k1, n1), (k2, n2)))
        tally.add(f"s{place}", *sides)
    return tally.report()


@settings(deadline=None, max_examples=40)
@given(st.lists(tables, min_size=1, max_size=6))
def test_expected_flags_and_the_chance_of_as_many_are_those_of_every_deal(made: list[Table]) -> None:
    found = report(made)
    tested = [table for table in made if (table[1], table[3]) != (1, 1)]
    if not tested:
        assert found is None
        return
    assert found is not None
    rates = [dealt_flag_rate(table) for table in tested]
    flags = sum(is_flagged(table) for table in tested)
    assert (found.tested, found.not_tested, found.flagged) == (len(tested), len(made) - len(tested), flags)
    assert found.expected_flags == pytest.approx(sum(rates), rel=1e-12, abs=1e-15)
    assert found.chance_of_as_many == pytest.approx(tail_by_every_outcome(rates, flags), rel=1e-9, abs=1e-15)
    assert [drop.scenario_id for drop in found.drops] == [f"s{at}" for at, (k1, n1, k2, n2) in enumerate(made) if k2 * n1 < k1 * n2]
