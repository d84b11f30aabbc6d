"""Runs against each other, question by question: who has the most points, and how far apart each two of them are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import sub

from evalplatform.comparisons.arm_differences import Column, family_of_differences, known
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
    wins, uncontested = [0] * len(contenders), [0] * len(contenders)
    questions = ties = unscored = 0
    for row in zip(*(one.points for one in contenders), strict=True):
        questions += 1
        scored = known(row)
        if not scored:
            unscored += 1
            continue
        most = max(scored)
        if scored.count(most) > 1:
            ties += 1
            continue
        winner = row.index(most)
        wins[winner] += 1
        uncontested[winner] += len(scored) < len(row)
    runs = tuple(RunWins(run=one.name, wins=won, uncontested=alone) for one, won, alone in zip(contenders, wins, uncontested, strict=True))
    return HeadToHead(questions=questions, runs=runs, ties=ties, unscored=unscored)


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
