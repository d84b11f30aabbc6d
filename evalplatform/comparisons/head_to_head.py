"""Runs against each other, question by question: who has the most points, and how far apart each two of them are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import sub

from evalplatform.comparisons.arm_differences import Column, family_of_differences
from evalplatform.comparisons.model_comparison_records import HeadToHead, RunPair, RunWins
from evalplatform.stats.multiplicity import Correction


@dataclass(frozen=True)
class Contender:
    """A run as it meets others: its points in the scored arm, and its deltas from the baseline arm."""

    name: str
    points: Column
    deltas: Column


def differences_of(one: Column, other: Column) -> list[float | None]:
    """Return one minus other, question by question; None where either is."""
    try:
        return list(map(sub, one, other))  # where all are scored, most often, this takes a third of the time
    except TypeError:
        return [None if a is None or b is None else a - b for a, b in zip(one, other, strict=True)]


def head_to_head(contenders: Sequence[Contender]) -> HeadToHead:
    """Return on how many questions each contender alone has the most points; equal most points are a tie."""
    import numpy

    # One row a run, one column a question; nan is unscored, and equals nothing.
    points = numpy.array([one.points for one in contenders], dtype=float)
    scored = (~numpy.isnan(points)).sum(axis=0)
    has_most = points == numpy.fmax.reduce(points, axis=0)
    alone = has_most & (has_most.sum(axis=0) == 1)
    uncontested = alone & (scored < len(contenders))
    wins = zip(contenders, alone.sum(axis=1).tolist(), uncontested.sum(axis=1).tolist(), strict=True)
    return HeadToHead(
        questions=points.shape[1],
        runs=tuple(RunWins(run=one.name, wins=won, uncontested=met_nobody) for one, won, met_nobody in wins),
        ties=int((has_most.sum(axis=0) > 1).sum()),
        unscored=int((scored == 0).sum()),
    )


def run_pairs(contenders: Sequence[Contender], *, clusters: Sequence[str] | None, correction: Correction) -> tuple[RunPair, ...]:
    """Return the differences of each two contenders, first minus second, over the questions that both scored.

    Args:
        contenders: in order; every earlier one is first.
        clusters: the cluster of each question, where questions are not independent.
        correction: over all pairs' quality, and over all pairs' benefit.
    """
    pairs = list(combinations(contenders, 2))
    quality = [differences_of(one.points, other.points) for one, other in pairs]
    benefit = [differences_of(one.deltas, other.deltas) for one, other in pairs]
    families = [family_of_differences(family, clusters=clusters, correction=correction) for family in (quality, benefit)]
    return tuple(
        RunPair(first=one.name, second=other.name, quality=of_points, benefit=of_deltas)
        for (one, other), of_points, of_deltas in zip(pairs, *families, strict=True)
    )
