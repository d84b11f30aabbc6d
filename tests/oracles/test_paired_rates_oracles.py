"""Paired pass rates beside SciPy and statsmodels."""

import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep

from evalplatform.stats.paired_rates import PairedPasses, mcnemar_p_value, paired_rate_difference


def passes(both: int, candidate: int, baseline: int, neither: int) -> PairedPasses:
    return PairedPasses(both=both, candidate_alone=candidate, baseline_alone=baseline, neither=neither)


@pytest.mark.parametrize(("candidate", "baseline"), [(0, 1), (1, 1), (6, 0), (9, 3), (12, 12), (40, 71), (600, 500)])
def test_the_exact_test_is_scipys_binomial_test_on_pairs_that_disagree(candidate: int, baseline: int) -> None:
    # scipy.stats.binomtest(b, b + c, 0.5): two-sided, which is twice the smaller tail at one half
    expected = stats.binomtest(candidate, candidate + baseline, 0.5).pvalue
    assert mcnemar_p_value(passes(17, candidate, baseline, 5)) == pytest.approx(expected, rel=1e-9)


def test_the_exact_test_is_statsmodels_mcnemar() -> None:
    table = [[101, 121], [59, 33]]
    assert mcnemar_p_value(passes(101, 121, 59, 33)) == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-9)


@pytest.mark.parametrize("counts", [(4, 4, 4, 4), (1, 3, 2, 6), (0, 8, 0, 12), (9, 1, 0, 0)])
def test_without_correlation_the_interval_is_newcombes_of_two_independent_rates(counts: tuple[int, int, int, int]) -> None:
    # The pairs' correlation is 0 where both * neither == candidate_alone * baseline_alone, and where a rate is 0 or 1.
    found, n = paired_rate_difference(passes(*counts)), sum(counts)
    lo, hi = confint_proportions_2indep(counts[0] + counts[1], n, counts[0] + counts[2], n, method="newcomb", compare="diff")
    assert found is not None
    assert (found.ci_lo, found.ci_hi) == (pytest.approx(lo, abs=1e-9), pytest.approx(hi, abs=1e-9))


def test_the_interval_follows_newcombes_formula_worked_by_hand() -> None:
    # R: n <- 50; l <- function(x) prop.test(x, n, correct = FALSE)$conf.int; method 10 of Newcombe 1998 with (36, 12, 2, 0):
    # rates 0.96 and 0.76; a*d - b*c = -24, so no continuity correction; phi = -24/sqrt(48*2*38*12) = -0.11471
    found = paired_rate_difference(passes(36, 12, 2, 0))
    candidate, baseline = stats.binomtest(48, 50).proportion_ci(method="wilson"), stats.binomtest(38, 50).proportion_ci(method="wilson")
    phi = -24 / (48 * 2 * 38 * 12) ** 0.5
    below = ((0.96 - candidate.low) ** 2 - 2 * phi * (0.96 - candidate.low) * (baseline.high - 0.76) + (baseline.high - 0.76) ** 2) ** 0.5
    above = ((candidate.high - 0.96) ** 2 - 2 * phi * (candidate.high - 0.96) * (0.76 - baseline.low) + (0.76 - baseline.low) ** 2) ** 0.5
    assert found is not None
    assert (found.ci_lo, found.ci_hi) == (pytest.approx(0.2 - below, abs=1e-12), pytest.approx(0.2 + above, abs=1e-12))
