"""Agreement beside SciPy and statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from evalplatform.stats.agreement import cohen_kappa, rank_correlation


@pytest.mark.parametrize("size", [4, 30, 31, 500])
@pytest.mark.parametrize("decimals", [None, -1], ids=["untied", "tied"])
def test_rank_correlation_is_scipys_with_and_without_ties(size: int, decimals: int | None) -> None:
    rng = np.random.default_rng(size)
    first = rng.uniform(0, 100, size)
    second = np.clip(first + rng.normal(0, 25, size), 0, 100)
    if decimals is not None:
        first, second = first.round(decimals), second.round(decimals)
    found = rank_correlation(list(zip(first.tolist(), second.tolist(), strict=True)))
    assert found is not None
    assert found.rho == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)


def test_the_interval_covers_a_normal_rank_correlation_about_as_often_as_it_says() -> None:
    # For bivariate normal numbers the population's Spearman correlation is 6 / pi * asin(r / 2); 1,000 samples of 40, so 0.95 +- 0.021.
    rng, true = np.random.default_rng(12), 6 / np.pi * np.arcsin(0.6 / 2)
    covered = 0
    for _ in range(1_000):
        sample = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 40)
        found = rank_correlation([(float(a), float(b)) for a, b in sample])
        assert found is not None
        assert found.ci_lo is not None
        assert found.ci_hi is not None
        covered += found.ci_lo <= true <= found.ci_hi
    assert covered / 1_000 == pytest.approx(0.95, abs=0.021)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("categories", [2, 4])
def test_kappa_and_its_standard_error_are_statsmodels(seed: int, categories: int) -> None:
    # statsmodels: cohens_kappa(table) gives kappa, std_kappa and the normal limits by Fleiss, Cohen and Everitt, not cut at 1
    rng = np.random.default_rng(seed)
    first = rng.integers(0, categories, 60)
    second = np.where(rng.random(60) < 0.7, first, rng.integers(0, categories, 60))
    counts = np.zeros((categories, categories))
    np.add.at(counts, (first, second), 1)
    reference = cohens_kappa(counts)
    found = cohen_kappa(list(zip(first.tolist(), second.tolist(), strict=True)))
    assert found is not None
    assert found.kappa == pytest.approx(reference.kappa, abs=1e-14)
    assert found.standard_error == pytest.approx(reference.std_kappa, abs=1e-14)
    assert (found.ci_lo, found.ci_hi) == (pytest.approx(max(-1, reference.kappa_low)), pytest.approx(min(1, reference.kappa_upp)))
