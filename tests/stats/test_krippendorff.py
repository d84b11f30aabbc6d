import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evalplatform.stats.krippendorff import Alpha, Level, krippendorff_alpha

LEVELS = st.sampled_from(["nominal", "interval"])
UNITS = st.lists(st.lists(st.none() | st.integers(0, 4).map(float), min_size=3, max_size=3), min_size=1, max_size=12)
QUICK = settings(deadline=None, max_examples=50)
"""NumPy is imported by the first example."""


def alpha_of(units: list[list[float | None]], level: Level) -> Alpha | None:
    return krippendorff_alpha(units, level=level, rng=np.random.default_rng(5))


@given(UNITS, LEVELS, st.permutations(range(3)), st.randoms(use_true_random=False))
@QUICK
def test_which_rater_is_which_and_the_order_of_units_change_nothing(
    units: list[list[float | None]], level: Level, order: list[int], random: object
) -> None:
    turned = [[unit[place] for place in order] for unit in units]
    random.shuffle(turned)
    there, back = alpha_of(units, level), alpha_of(turned, level)
    assert (there is None) is (back is None)
    if there is not None:
        assert back.alpha == pytest.approx(there.alpha, abs=1e-9)


@given(UNITS, st.permutations(range(5)))
@QUICK
def test_names_of_categories_change_nothing(units: list[list[float | None]], names: list[int]) -> None:
    renamed = [[None if rating is None else f"name {names[int(rating)]}" for rating in unit] for unit in units]
    there, back = alpha_of(units, "nominal"), alpha_of(renamed, "nominal")
    assert (None if there is None else there.alpha) == (None if back is None else pytest.approx(back.alpha, abs=1e-9))


@given(UNITS, st.floats(0.01, 100), st.floats(-1e6, 1e6))
@QUICK
def test_scale_and_zero_of_the_points_change_nothing(units: list[list[float | None]], factor: float, shift: float) -> None:
    moved = [[None if rating is None else rating * factor + shift for rating in unit] for unit in units]
    there = alpha_of(units, "interval")
    assume(there is not None)
    assert alpha_of(moved, "interval").alpha == pytest.approx(there.alpha, abs=1e-5)


@given(st.lists(st.integers(0, 100), min_size=2, max_size=30), LEVELS)
@QUICK
def test_raters_who_always_agree_have_one_and_no_interval(ratings: list[int], level: Level) -> None:
    found = alpha_of([[rating, rating, None, rating] for rating in ratings], level)
    if len(set(ratings)) == 1:
        assert found is None, "without any variation agreement by chance is total, and there is nothing beyond it"
    else:
        assert (found.alpha, found.ci_lo) == (1.0, None)
        assert found.ci_reason is not None


@given(UNITS, LEVELS)
@QUICK
def test_alpha_is_never_above_one_and_its_interval_is_in_order(units: list[list[float | None]], level: Level) -> None:
    found = alpha_of(units, level)
    if found is not None:
        assert found.alpha <= 1
        assert (found.ci_lo is None) is (found.ci_hi is None) is (found.ci_reason is not None)
        assert found.ci_lo is None or found.ci_lo <= found.ci_hi <= 1


def test_units_with_one_rating_say_nothing() -> None:
    pairs = [[10.0, 20.0], [30.0, 20.0], [50.0, 70.0]]
    assert alpha_of([*pairs, [90.0, None], [None, None]], "interval") == alpha_of(pairs, "interval")
    assert alpha_of([[90.0, None], [None, 10.0]], "interval") is None


def test_below_six_units_there_is_no_interval() -> None:
    units = [[10.0, 20.0], [30.0, 20.0], [50.0, 70.0], [40.0, 45.0], [60.0, 55.0]]
    assert alpha_of(units, "interval").ci_reason == "fewer than 6 independent units"
    assert alpha_of([*units, [5.0, 0.0]], "interval").ci_reason is None


def test_the_same_generator_gives_the_same_interval() -> None:
    units = [[float(number), float(number * 7 % 11)] for number in range(20)]
    assert alpha_of(units, "interval") == alpha_of(units, "interval")


def test_units_that_depend_on_each_other_count_once() -> None:
    rng = np.random.default_rng(2)
    units = [[float(first), float(first + second)] for first, second in rng.normal((50, 0), (10, 5), (20, 2))]
    copied = [unit for unit in units for _ in range(8)]
    clusters = [str(number // 8) for number in range(len(copied))]
    naive = krippendorff_alpha(copied, level="interval", rng=np.random.default_rng(0))
    clustered = krippendorff_alpha(copied, level="interval", clusters=clusters, rng=np.random.default_rng(0))
    plain = krippendorff_alpha(units, level="interval", rng=np.random.default_rng(0))
    assert naive.alpha == pytest.approx(clustered.alpha, abs=1e-12)
    assert clustered.ci_hi - clustered.ci_lo == pytest.approx(plain.ci_hi - plain.ci_lo, rel=0.15)
    assert naive.ci_hi - naive.ci_lo < 0.6 * (clustered.ci_hi - clustered.ci_lo)


def test_a_missing_cluster_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="2 units and 1 clusters"):
        krippendorff_alpha([[1.0, 2.0], [2.0, 1.0]], level="interval", clusters=["a"], rng=np.random.default_rng(0))
