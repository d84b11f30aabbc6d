"""Our statistics beside those of SciPy, statsmodels and R, with the recipe of each value."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.api import OLS
from statsmodels.stats.multitest import multipletests

from evalplatform.stats.mean import estimate_mean
from evalplatform.stats.multiplicity import benjamini_hochberg, holm
from evalplatform.stats.paired import PairedEffect, paired_effect
from evalplatform.stats.permutation import RESAMPLES, sign_flip_p_value

SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
"""Student's sleep data (R: with(sleep, extra[group == 2] - extra[group == 1])), hours, 10 patients."""


def effect_of(differences: list[float], clusters: list[str] | None = None) -> PairedEffect:
    effect = paired_effect(differences, clusters=clusters, rng=np.random.default_rng(1))
    assert effect is not None
    return effect


def test_t_test_is_that_of_r_on_students_sleep_data() -> None:
    # R: t.test(extra ~ group, data = sleep, paired = TRUE) prints t = -4.0621, df = 9, p-value = 0.002833,
    # 95 percent confidence interval -2.4598858 -0.7001142, mean of the differences -1.58
    effect = effect_of(SLEEP)
    assert effect.p_t == pytest.approx(0.002833, abs=5e-7)
    assert (effect.ci_lo, effect.ci_hi) == (pytest.approx(0.7001142, abs=5e-8), pytest.approx(2.4598858, abs=5e-8))
    assert effect.delta_mean / effect.standard_error == pytest.approx(4.0621, abs=5e-5)


@pytest.mark.parametrize("size", [6, 12, 40, 400])
def test_interval_and_t_test_are_scipys(size: int) -> None:
    differences = np.random.default_rng(size).normal(0.3, 2, size).round(1).tolist()
    reference = stats.ttest_1samp(differences, 0.0)
    interval = reference.confidence_interval(0.95)
    effect = effect_of(differences)
    assert effect.p_t == pytest.approx(reference.pvalue, rel=1e-9)
    assert (effect.ci_lo, effect.ci_hi) == (pytest.approx(interval.low, rel=1e-9), pytest.approx(interval.high, rel=1e-9))


def test_zero_differences_stay_in_the_signed_rank_test() -> None:
    # scipy.stats.wilcoxon([...], zero_method="zsplit") 0.0764; the default zero_method="wilcox" drops 15 of 20 pairs
    differences = [0.0] * 15 + [10.0, 12.0, 14.0, 16.0, 18.0]
    effect = effect_of(differences)
    assert effect.n_wilcoxon == 20
    assert effect.p_wilcoxon == pytest.approx(stats.wilcoxon(differences, zero_method="zsplit", method="approx", correction=False).pvalue)
    assert effect.p_wilcoxon > 0.05 > stats.wilcoxon(differences[12:], zero_method="wilcox", method="approx").pvalue


def test_signed_rank_test_is_exact_up_to_fifty_pairs_without_ties() -> None:
    differences = np.random.default_rng(2).normal(0.4, 1, 50).tolist()
    assert effect_of(differences).p_wilcoxon == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, rel=1e-12)


def test_sign_flip_test_counts_what_scipy_permutes() -> None:
    # scipy: permutation_test((d,), np.mean, permutation_type="samples", n_resamples=inf) flips the signs of one sample exactly
    differences = np.random.default_rng(4).normal(0.5, 1, 11).round(1).tolist()
    reference = stats.permutation_test((differences,), lambda x, axis: abs(np.mean(x, axis=axis)), permutation_type="samples",
                                       n_resamples=np.inf, alternative="greater", vectorized=True)  # fmt: skip
    assert sign_flip_p_value(differences, rng=np.random.default_rng(1)) == pytest.approx(reference.pvalue, abs=1e-12)


def test_sampled_sign_flips_are_near_the_t_test_on_normal_data() -> None:
    differences = np.random.default_rng(6).normal(0.25, 1, 80).tolist()
    expected = stats.ttest_1samp(differences, 0.0).pvalue
    assert effect_of(differences).p_permutation == pytest.approx(expected, abs=5 * (expected / RESAMPLES) ** 0.5 + 0.005)


@pytest.mark.parametrize("groups", [3, 8, 25])
def test_clustered_error_and_interval_are_statsmodels(groups: int) -> None:
    # OLS(d, 1).fit(cov_type="cluster", use_t=True): CR1 with t on G-1 degrees of freedom
    rng = np.random.default_rng(groups)
    labels = rng.permutation(np.arange(60) % groups)
    values = (rng.normal(0, 2, groups)[labels] + rng.normal(1, 1, 60)).tolist()
    fitted = OLS(values, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": labels, "use_correction": True}, use_t=True)
    estimate = estimate_mean(values, clusters=[str(label) for label in labels])
    assert estimate is not None
    assert estimate.standard_error == pytest.approx(fitted.bse[0], rel=1e-9)
    assert estimate.degrees_of_freedom == groups - 1
    assert [estimate.ci_lo, estimate.ci_hi] == pytest.approx(fitted.conf_int(0.05)[0], rel=1e-9)
    if groups >= 6:
        assert effect_of(values, [str(label) for label in labels]).p_t == pytest.approx(fitted.pvalues[0], rel=1e-7)


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_corrections_are_statsmodels(size: int) -> None:
    p_values = (np.random.default_rng(size).random(size) ** 3).tolist()
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert benjamini_hochberg(p_values) == pytest.approx(multipletests(p_values, method="fdr_bh")[1])
