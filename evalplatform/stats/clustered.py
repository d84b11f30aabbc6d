"""The standard error of a mean when observations come in clusters, such as questions about one page."""

from collections.abc import Sequence
from math import fsum, sqrt

from evalplatform.kernel.values import Value


class ClusteredError(Value):
    """A cluster-robust standard error, in the unit of the values, and how many clusters it rests on."""

    standard_error: float
    clusters: int


def clustered_standard_error(values: Sequence[float], clusters: Sequence[str]) -> ClusteredError | None:
    """Return the standard error of the mean of `values`, robust to any dependence inside a cluster.

    Convention: CR1, the sandwich estimator for a regression on a constant. Residuals are summed inside each cluster, their squares are
    added up and divided by n squared, and the result is scaled by G/(G-1), with G the number of clusters; the other small-sample factor,
    (n-1)/(n-k), is 1 for one coefficient. Intervals and tests use Student's t with G-1 degrees of freedom. Where every cluster holds one
    value this is the ordinary standard error.

    Args:
        values: one number per observation.
        clusters: the cluster of each observation, in the same order.

    Returns:
        The standard error, or None below two clusters.

    Raises:
        ValueError: the two sequences differ in length.

    References:
        Cameron and Miller, A Practitioner's Guide to Cluster-Robust Inference, Journal of Human Resources 50(2), 2015, section II.
    """
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values and {len(clusters)} cluster labels")
    members = values_by_cluster(values, clusters)
    if len(members) < 2:
        return None
    mean = fsum(values) / len(values)
    squares = fsum(fsum(value - mean for value in group) ** 2 for group in members.values())
    correction = len(members) / (len(members) - 1)
    return ClusteredError(standard_error=sqrt(correction * squares) / len(values), clusters=len(members))


def values_by_cluster(values: Sequence[float], clusters: Sequence[str]) -> dict[str, list[float]]:
    """Return the values of each cluster, clusters in order of first appearance."""
    members: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    return members
