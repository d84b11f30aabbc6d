import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evalplatform.stats.multiplicity import benjamini_hochberg, holm
from evalplatform.stats.paired import PairedEffect, paired_effect

DIFFERENCES = st.lists(st.integers(-1000, 1000).map(lambda tenths: tenths / 10), min_size=2, max_size=40)
SLOW_FIRST_CALL = settings(deadline=None, max_examples=40)
"""SciPy is imported by the first example, and ties among thirteen pairs are permuted in full."""

FAMILY = st.lists(st.none() | st.floats(0, 1), max_size=12)


def effect_of(differences: list[float]) -> PairedEffect:
    effect = paired_effect(differences, rng=np.random.default_rng(1))
    assert effect is not None
    return effect


@given(DIFFERENCES, st.randoms(use_true_random=False))
@SLOW_FIRST_CALL
def test_order_of_the_questions_changes_nothing(differences: list[float], random: object) -> None:
    shuffled = list(differences)
    random.shuffle(shuffled)
    first, second = effect_of(differences), effect_of(shuffled)
    assert (first.n, first.ci_method, first.p_permutation) == (second.n, second.ci_method, second.p_permutation)
    assert second.delta_mean == pytest.approx(first.delta_mean, abs=1e-9)
    assert (second.ci_lo, second.ci_hi) == (pytest.approx(first.ci_lo, abs=1e-9), pytest.approx(first.ci_hi, abs=1e-9))
    assert second.p_t == pytest.approx(first.p_t, abs=1e-9)
    assert second.p_wilcoxon == pytest.approx(first.p_wilcoxon, abs=1e-12)


@given(DIFFERENCES)
@SLOW_FIRST_CALL
def test_swapping_the_sides_swaps_the_sign_and_nothing_else(differences: list[float]) -> None:
    there, back = effect_of(differences), effect_of([-difference for difference in differences])
    assert (back.delta_mean, back.ci_lo, back.ci_hi) == (-there.delta_mean, -there.ci_hi, -there.ci_lo)
    assert (back.delta_sd, back.effect, back.p_t, back.p_permutation) == (there.delta_sd, there.effect, there.p_t, there.p_permutation)
    assert back.p_wilcoxon == pytest.approx(there.p_wilcoxon, abs=1e-12)


@given(DIFFERENCES.filter(lambda differences: len(differences) >= 6), st.floats(0.01, 100))
@SLOW_FIRST_CALL
def test_unit_of_the_points_changes_no_p_value(differences: list[float], factor: float) -> None:
    plain, scaled = effect_of(differences), effect_of([difference * factor for difference in differences])
    assume(plain.ci_method != "degenerate" and scaled.ci_method != "degenerate")
    assert scaled.p_t == pytest.approx(plain.p_t, rel=1e-6)
    assert scaled.p_permutation == plain.p_permutation


@given(DIFFERENCES)
@SLOW_FIRST_CALL
def test_p_values_are_probabilities_and_never_zero_by_permutation(differences: list[float]) -> None:
    effect = effect_of(differences)
    if effect.p_permutation is None:
        assert len(differences) < 6 or effect.ci_method == "degenerate"
        return
    assert 0 < effect.p_permutation <= 1
    assert 0 <= effect.p_t <= 1
    assert 0 < effect.p_wilcoxon <= 1


@given(FAMILY)
def test_holm_only_raises_and_benjamini_hochberg_raises_no_more(p_values: list[float | None]) -> None:
    for raw, by_holm, by_bh in zip(p_values, holm(p_values), benjamini_hochberg(p_values), strict=True):
        if raw is None:
            assert by_holm is None
            assert by_bh is None
        else:
            assert raw <= by_bh * (1 + 1e-12)
            assert by_bh <= by_holm * (1 + 1e-12)
            assert by_holm <= 1


@given(FAMILY)
def test_corrections_keep_the_order_of_the_evidence(p_values: list[float | None]) -> None:
    for adjust in (holm, benjamini_hochberg):
        adjusted = [pair for pair in zip(p_values, adjust(p_values), strict=True) if pair[0] is not None]
        by_raw = [after for _, after in sorted(adjusted)]
        assert by_raw == sorted(by_raw)


@given(FAMILY, st.integers(0, 11))
def test_an_untested_hypothesis_changes_no_other(p_values: list[float | None], place: int) -> None:
    for adjust in (holm, benjamini_hochberg):
        more = adjust([*p_values[:place], None, *p_values[place:]])
        at = min(place, len(p_values))
        assert more[:at] + more[at + 1 :] == adjust(p_values)
