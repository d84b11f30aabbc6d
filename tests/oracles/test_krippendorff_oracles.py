"""Krippendorff's alpha beside the published example and a second way to compute it; the sign test beside SciPy."""

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from evalplatform.stats.krippendorff import Level, krippendorff_alpha
from evalplatform.stats.sign_test import sign_test_p_value

N = None
# Krippendorff 2011, example C: four observers, twelve units, nine of 48 values missing (the last unit has one value, and is left out).
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3),
    (N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N),
)
UNITS = list(zip(*OBSERVERS, strict=True))


def by_coincidences(units: Sequence[Sequence[float | None]], distance: Callable[[float, float], float]) -> float:
    """Alpha from the matrix of coincidences, as the paper writes it down."""
    rated = [[rating for rating in unit if rating is not None] for unit in units]
    rated = [unit for unit in rated if len(unit) > 1]
    values = sorted({rating for unit in rated for rating in unit})
    place = {value: index for index, value in enumerate(values)}
    coincidences = np.zeros((len(values), len(values)))
    for unit in rated:
        for first, second in permutations(unit, 2):
            coincidences[place[first], place[second]] += 1 / (len(unit) - 1)
    distances = np.array([[distance(first, second) for second in values] for first in values])
    margins = coincidences.sum(axis=1)
    expected = np.outer(margins, margins) - np.diag(margins)
    return float(1 - (margins.sum() - 1) * (coincidences * distances).sum() / (expected * distances).sum())


def unlike(first: float, second: float) -> float:
    return float(first != second)


def squared(first: float, second: float) -> float:
    return (first - second) ** 2


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("interval", 0.849)])
def test_alpha_of_the_published_example_is_the_published_one(level: Level, published: float) -> None:
    found = krippendorff_alpha(UNITS, level=level, rng=np.random.default_rng(1))
    assert found is not None
    assert round(found.alpha, 3) == published
    assert (found.units, found.ratings) == (11, 40)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("level", "distance"), [("nominal", unlike), ("interval", squared)])
def test_alpha_is_what_the_matrix_of_coincidences_gives(seed: int, level: Level, distance: Callable[[float, float], float]) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 30)
    table = np.where(rng.random((30, 4)) < 0.6, truth[:, None], rng.integers(0, 5, (30, 4)))
    units = [[float(rating) if rng.random() < 0.8 else None for rating in row] for row in table]
    found = krippendorff_alpha(units, level=level, rng=rng)
    assert found is not None
    assert found.alpha == pytest.approx(by_coincidences(units, distance), abs=1e-12)


def test_the_interval_covers_alpha_about_as_often_as_it_says() -> None:
    # Two raters, normal, correlated 0.7 with equal means and variances: the population's alpha at the interval level is the correlation.
    # A percentile bootstrap of 60 units is a little too narrow; 300 samples, so 0.93 +- 0.045 at three standard errors.
    rng, covered = np.random.default_rng(3), 0
    for _ in range(300):
        sample = rng.multivariate_normal([50, 50], [[100, 70], [70, 100]], 60)
        found = krippendorff_alpha(sample.tolist(), level="interval", rng=rng)
        assert found is not None
        assert found.ci_lo is not None
        assert found.ci_hi is not None
        covered += found.ci_lo <= 0.7 <= found.ci_hi
    assert covered / 300 == pytest.approx(0.93, abs=0.045)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (6, 0), (5, 5), (54, 15), (29, 50), (32, 44), (700, 801), (3_000, 1)])
def test_the_sign_test_is_scipys_exact_binomial_test(wins: int, losses: int) -> None:
    reference = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test_p_value(wins, losses) == pytest.approx(reference, rel=1e-9)
