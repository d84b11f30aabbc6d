import numpy as np
import pytest

from evalplatform.stats.mean import estimate_mean
from evalplatform.stats.paired import PairedEffect, effect_word, paired_effect
from evalplatform.stats.permutation import RESAMPLES, sign_flip_p_value


def effect_of(*differences: float, clusters: list[str] | None = None) -> PairedEffect:
    effect = paired_effect(differences, clusters=clusters, rng=np.random.default_rng(1))
    assert effect is not None
    return effect


def test_paired_data_is_compared_in_pairs() -> None:
    # pitfall X01: pooling the two sides' spread, as for independent samples, gives 0.0193 and hides the effect
    candidate, baseline = [101.0, 202.0, 303.0, 404.0], [100.0, 200.0, 300.0, 400.0]
    effect = effect_of(*(a - b for a, b in zip(candidate, baseline, strict=True)))
    assert effect.d_z == pytest.approx(1.9365, abs=5e-5)
    assert effect.effect == "large"


def test_one_pair_says_nothing() -> None:
    assert paired_effect([3.0], rng=np.random.default_rng(1)) is None
    assert paired_effect([], rng=np.random.default_rng(1)) is None


@pytest.mark.parametrize(("pairs", "is_tested"), [(5, False), (6, True)])
def test_tests_are_made_from_six_pairs_on(pairs: int, is_tested: bool) -> None:
    effect = effect_of(*(float(value) for value in range(1, pairs + 1)))
    tests = (effect.p_t, effect.p_wilcoxon, effect.p_permutation, effect.n_wilcoxon)
    assert all((value is not None) == is_tested for value in tests)
    assert effect.ci_lo < effect.delta_mean < effect.ci_hi


@pytest.mark.parametrize(("difference", "d_z", "word"), [(20.0, None, "unknown"), (0.0, 0.0, "negligible"), (0.1 + 0.2, None, "unknown")])
def test_equal_differences_have_a_point_for_an_interval_and_no_test(difference: float, d_z: float | None, word: str) -> None:
    effect = effect_of(*[difference] * 30)
    assert (effect.ci_method, effect.ci_lo, effect.ci_hi) == ("degenerate", effect.delta_mean, effect.delta_mean)
    assert (effect.d_z, effect.effect) == (d_z, word)
    assert effect.p_t is effect.p_wilcoxon is effect.p_permutation is effect.n_wilcoxon is None


def test_spread_from_rounding_noise_alone_is_no_spread() -> None:
    noisy = [85.4 - 65.4, 75.5 - 55.5, 60.3 - 40.3, 90.1 - 70.1, 33.3 - 13.3, 47.7 - 27.7]
    assert len(set(noisy)) > 1
    assert effect_of(*noisy).ci_method == "degenerate"


@pytest.mark.parametrize(
    ("d_z", "word"),
    [(0.0, "negligible"), (0.19, "negligible"), (-0.2, "small"), (0.5, "medium"), (-0.79, "medium"), (0.8, "large"), (None, "unknown")],
)
def test_effects_are_worded_by_their_size_whatever_their_sign(d_z: float | None, word: str) -> None:
    assert effect_word(d_z) == word


def test_interval_excludes_zero_exactly_when_the_t_test_rejects() -> None:
    rng = np.random.default_rng(7)
    for _ in range(200):
        effect = effect_of(*rng.normal(0.6, 1, 12))
        assert effect.p_t is not None
        assert (effect.p_t < 0.05) == (effect.ci_lo > 0 or effect.ci_hi < 0)


def test_sign_flips_of_one_direction_are_as_rare_as_they_can_be() -> None:
    # of 2**8 patterns only "all plus" and "all minus" reach the mean that was seen
    assert sign_flip_p_value([1, 2, 3, 4, 5, 6, 7, 8], rng=np.random.default_rng(1)) == 2 / 2**8


def test_sampled_sign_flips_are_never_impossible_and_follow_the_seed() -> None:
    one_sided = [float(value) for value in range(1, 41)]
    assert sign_flip_p_value(one_sided, rng=np.random.default_rng(3)) == 1 / (RESAMPLES + 1)
    mixed = [*one_sided[:20], *(-value for value in one_sided[22:])]
    first, second = (sign_flip_p_value(mixed, rng=np.random.default_rng(3)) for _ in range(2))
    assert first == second
    assert 1 / (RESAMPLES + 1) < first < 1


def test_sampled_sign_flips_agree_with_the_exact_count() -> None:
    # zeros change no sum, so the same 20 differences are counted exactly, and sampled once two tiny ones are added
    differences = np.random.default_rng(5).normal(0.4, 1, 20).tolist()
    exact = sign_flip_p_value([*differences, 0.0, 0.0], rng=np.random.default_rng(1))
    sampled = sign_flip_p_value([*differences, 1e-13, -1e-13], rng=np.random.default_rng(1))
    assert 0.01 < exact < 0.5
    assert sampled == pytest.approx(exact, abs=4 * (exact * (1 - exact) / RESAMPLES) ** 0.5)


def test_clustered_pairs_are_tested_by_cluster() -> None:
    differences = [5.0, 5.2, 4.8, 4.9, -1.0, -1.1, 6.0, 6.2, 5.9, 2.0, 2.2, 1.8, 3.0, 3.3, 0.5, 0.4]
    clusters = list("aaaabbcccdddeeff")
    plain, clustered = effect_of(*differences), effect_of(*differences, clusters=clusters)
    assert clustered.clusters == 6
    assert clustered.ci_method == "cluster_t"
    assert clustered.standard_error > plain.standard_error
    assert clustered.p_t > plain.p_t
    assert clustered.p_wilcoxon is None, "the signed-rank test takes pairs for independent"
    assert clustered.p_permutation == sign_flip_p_value([19.9, -2.1, 18.1, 6.0, 6.3, 0.9], rng=np.random.default_rng(1))


def test_one_cluster_says_nothing_and_five_are_not_tested() -> None:
    differences = [1.0, 2.0, 4.0, 3.0, 5.0, 7.0]
    assert paired_effect(differences, clusters=["a"] * 6, rng=np.random.default_rng(1)) is None
    assert effect_of(*differences, clusters=list("aabcde")).p_t is None


def test_clusters_that_cancel_out_are_degenerate() -> None:
    effect = effect_of(*[1.0, 3.0] * 6, clusters=[name for name in "abcdef" for _ in range(2)])
    assert (effect.ci_method, effect.p_t) == ("degenerate", None)
    assert effect.d_z == pytest.approx(1.9149, abs=5e-5)


def test_labels_that_do_not_fit_the_values_are_refused() -> None:
    with pytest.raises(ValueError, match="3 values and 2 cluster labels"):
        estimate_mean([1.0, 2.0, 3.0], clusters=["a", "b"])
