"""Paired differences of a family, with their uncertainty: the one way in which comparisons across runs take a difference."""

from collections.abc import Sequence

from evalplatform.comparisons.model_comparison_records import ArmDifference
from evalplatform.comparisons.significance import family_verdicts
from evalplatform.stats.mean import plain_mean
from evalplatform.stats.multiplicity import Correction
from evalplatform.stats.paired import paired_effect

Column = Sequence[float | None]
"""A number of every question, in one order for all runs; None where there is none."""


def known(column: Column) -> list[float]:
    """Return the numbers that are there, in order."""
    return [number for number in column if number is not None]


def known_labels(column: Column, labels: Sequence[str] | None) -> list[str] | None:
    """Return the labels of the questions whose number is there, in order; None without labels."""
    return None if labels is None else [label for label, number in zip(labels, column, strict=True) if number is not None]


def family_of_differences(members: Sequence[Column], *, clusters: Sequence[str] | None, correction: Correction) -> list[ArmDifference]:
    """Return the mean difference of each member of a family, in order, each corrected for all.

    The sign-flip test is left out: over thousands of questions it takes longer than everything else together.

    Args:
        members: paired differences in points, those of each member in one order of questions; None where a side is unscored.
        clusters: the cluster of each question, in that order, where questions are not independent.
        correction: `holm` or `bh`, over the members with a test.
    """
    paired = [known(differences) for differences in members]
    effects = [
        paired_effect(of_pairs, clusters=known_labels(differences, clusters), rng=None)
        for differences, of_pairs in zip(members, paired, strict=True)
    ]
    verdicts = family_verdicts(effects, correction=correction)
    return [
        ArmDifference(
            pairs=len(differences),
            delta_points=effect.delta_mean if effect is not None else plain_mean(differences) if differences else None,
            effect=effect,
            verdict=verdict,
        )
        for differences, effect, verdict in zip(paired, effects, verdicts, strict=True)
    ]
