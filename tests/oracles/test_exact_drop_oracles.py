"""Exact tests of a drop beside SciPy."""

import numpy as np
import pytest
from scipy import stats

from evalplatform.stats.boschloo_drop import boschloo_drop_bounds
from evalplatform.stats.fisher_drop import fisher_drop_p
from evalplatform.stats.pass_counts import PassCount

SIZES = [(4, 4), (10, 10), (20, 12), (5, 17), (30, 30), (50, 50)]


def random_tables(sizes: tuple[int, int], number: int) -> list[tuple[PassCount, PassCount]]:
    rng = np.random.default_rng(sizes)
    rates = np.sort(rng.uniform(0.3, 1, (number, 2)), axis=1)[:, ::-1]
    passes = rng.binomial(sizes, rates)
    return [
        (PassCount(passed=int(before), graded=sizes[0]), PassCount(passed=int(after), graded=sizes[1])) for before, after in passes.tolist()
    ]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_fisher_is_scipys(sizes: tuple[int, int]) -> None:
    for baseline, candidate in random_tables(sizes, 40):
        table = [[baseline.passed, candidate.passed], [baseline.graded - baseline.passed, candidate.graded - candidate.passed]]
        assert float(fisher_drop_p(baseline, candidate)) == pytest.approx(stats.fisher_exact(table, alternative="greater").pvalue, rel=1e-9)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_boschloo_is_scipys_where_its_optimiser_finds_the_maximum(sizes: tuple[int, int]) -> None:
    # scipy.stats.boschloo_exact searches the nuisance rate and can stop short of the largest chance, by up to 1e-3 of it; never beyond.
    close = 0
    tables = random_tables(sizes, 12)
    for baseline, candidate in tables:
        table = [[baseline.passed, candidate.passed], [baseline.graded - baseline.passed, candidate.graded - candidate.passed]]
        reference = stats.boschloo_exact(table, alternative="greater").pvalue
        bounds = boschloo_drop_bounds(baseline, candidate)
        assert reference <= bounds.hi * (1 + 1e-6)
        assert reference == pytest.approx(bounds.lo, rel=2e-3)
        close += reference == pytest.approx(bounds.lo, rel=1e-6)
    assert close >= len(tables) * 2 / 3
