"""Krippendorff's alpha: how far any number of raters agree on the same units, beyond chance, where some ratings may be missing."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.mean import CONFIDENCE

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

Level = Literal["nominal", "interval"]

LEAST_CLUSTERS_FOR_INTERVAL = 6
RESAMPLES = 2_000
_LEAST_DEFINED_RATE = 0.95
_RESAMPLES_AT_ONCE = 200


class Alpha(Value):
    """Krippendorff's alpha and its 95% interval; where the method gives none, `ci_reason` says why.

    1 is perfect agreement, 0 what chance gives, below 0 more disagreement than chance. `units` counts those with two ratings or more,
    `ratings` the ratings of these.
    """

    level: Level
    units: int = Field(ge=1)
    ratings: int = Field(ge=2)
    alpha: float = Field(le=1)
    ci_lo: float | None = None
    ci_hi: float | None = None
    ci_reason: str | None = None


def krippendorff_alpha(
    units: Sequence[Sequence[Hashable | None]], *, level: Level, clusters: Sequence[Hashable] | None = None, rng: "Generator"
) -> Alpha | None:
    """Return Krippendorff's alpha over units that any number of raters rated.

    Alpha is 1 - observed / expected disagreement. Disagreement between two ratings is 0 or 1 (`nominal`), or their squared difference
    (`interval`). Ratings of one unit are compared with each other, each pair weighing 1 / (ratings - 1); chance compares every rating with
    every other. A unit with one rating says nothing of agreement and is left out.

    The interval is the percentile bootstrap over units (over clusters, where units depend on each other), 2,000 resamples; those without
    any variation have no alpha and are left out.

    Args:
        units: the ratings of each unit; None is a missing one. Ratings are numbers at the level `interval`, any category at `nominal`. The
            order of a unit's ratings does not matter.
        level: how ratings differ.
        clusters: the cluster of each unit, in the same order, where units are not independent.
        rng: draws the resamples.

    Returns:
        Alpha, or None where it is not defined: no unit with two ratings, or no variation at all. There is no interval below six units (or
        clusters), where no two ratings of a unit disagree, or where more than 5% of the resamples have no variation.

    Raises:
        ValueError: units and clusters differ in length.

    References:
        Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011. Zapf, Castell, Morawietz and Karch, BMC Medical Research
        Methodology 16:93, 2016 (the bootstrap).
    """
    if clusters is not None and len(clusters) != len(units):
        raise ValueError(f"{len(units)} units and {len(clusters)} clusters")
    rated = [[rating for rating in unit if rating is not None] for unit in units]
    pairable = [place for place, unit in enumerate(rated) if len(unit) > 1]
    ratings = [rated[place] for place in pairable]
    if len({rating for unit in ratings for rating in unit}) < 2:
        return None
    sums = _sums_by_cluster(ratings, level, None if clusters is None else [clusters[place] for place in pairable])
    alpha = float(_alphas(sums.sum(axis=0)[None, :])[0])
    found = Alpha(level=level, units=len(ratings), ratings=sum(map(len, ratings)), alpha=alpha)
    reason = _no_interval(sums)
    if reason is not None:
        return found.with_changes(ci_reason=reason)
    return _with_interval(found, sums, rng)


def _sums_by_cluster(ratings: Sequence[Sequence[Hashable]], level: Level, clusters: Sequence[Hashable] | None) -> "NDArray[float64]":
    """Return a row a cluster of what alpha is computed from; alpha of several clusters is that of the sum of their rows.

    A row holds the number of ratings, the observed disagreement, the sum of squared lengths, and the sum of the ratings as vectors. The
    squared distance of two ratings is then all that is needed: a category is a unit vector of its own, and two of these are equally far
    from each other, whichever they are.
    """
    import numpy as np

    vectors = _vectors([rating for unit in ratings for rating in unit], level)
    sizes = np.array([len(unit) for unit in ratings])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    squares = np.add.reduceat((vectors**2).sum(axis=1), starts)
    totals = np.add.reduceat(vectors, starts, axis=0)
    # The squared distances of all pairs of a unit's ratings add up to this; equal ratings are exactly 0 apart, not up to rounding.
    apart = np.maximum(0.0, sizes * squares - (totals**2).sum(axis=1))
    apart[(np.maximum.reduceat(vectors, starts) == np.minimum.reduceat(vectors, starts)).all(axis=1)] = 0.0
    table = np.column_stack((sizes, apart / (sizes - 1), squares, totals))
    if clusters is None:
        return table
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    summed = np.zeros((len(names), table.shape[1]))
    np.add.at(summed, [names[name] for name in clusters], table)
    return summed


def _vectors(ratings: Sequence[Hashable], level: Level) -> "NDArray[float64]":
    """Return each rating as a vector, one a row."""
    import numpy as np

    if level == "nominal":
        places = {rating: place for place, rating in enumerate(dict.fromkeys(ratings))}
        one_hot: NDArray[float64] = np.eye(len(places))[[places[rating] for rating in ratings]]
        return one_hot
    numbers: NDArray[float64] = np.array(ratings, dtype=np.float64)
    centred: NDArray[float64] = numbers - numbers.mean()  # squares of large numbers would cancel each other's digits
    return centred[:, None]


def _alphas(sums: "NDArray[float64]") -> "NDArray[float64]":
    """Return alpha for each row of sums; NaN where a row has no variation."""
    import numpy as np

    ratings, observed, squares, totals = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3:]
    expected = ratings * squares - (totals**2).sum(axis=1)
    varied = expected > 1e-9 * np.maximum(1e-300, ratings * squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(varied, 1 - (ratings - 1) * observed / expected, np.nan)


def _no_interval(sums: "NDArray[float64]") -> str | None:
    if len(sums) < LEAST_CLUSTERS_FOR_INTERVAL:
        return f"fewer than {LEAST_CLUSTERS_FOR_INTERVAL} independent units"
    return "no two ratings of a unit disagree" if sums[:, 1].sum() == 0 else None


def _with_interval(found: Alpha, sums: "NDArray[float64]", rng: "Generator") -> Alpha:
    import numpy as np

    count = len(sums)
    rows = np.arange(_RESAMPLES_AT_ONCE)[:, None] * count  # places in the flattened table of how often each cluster is drawn
    drawn = []
    for _ in range(RESAMPLES // _RESAMPLES_AT_ONCE):
        drawn_rows = rng.integers(0, count, size=(_RESAMPLES_AT_ONCE, count)) + rows
        times = np.bincount(drawn_rows.ravel(), minlength=_RESAMPLES_AT_ONCE * count).reshape(_RESAMPLES_AT_ONCE, count)
        drawn.append(_alphas(times @ sums))
    alphas = np.concatenate(drawn)
    defined = alphas[~np.isnan(alphas)]
    if len(defined) < _LEAST_DEFINED_RATE * RESAMPLES:
        return found.with_changes(ci_reason="too few resamples vary")
    lo, hi = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return found.with_changes(ci_lo=float(lo), ci_hi=float(hi))
