"""Runs against each other, question by question: who has the most points, and how far apart each two of them are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from evalplatform.comparisons.arm_differences import family_of_differences
from evalplatform.comparisons.model_comparison_records import HeadToHead, RunPair, RunWins
from evalplatform.comparisons.refusals import FactorDiffers
from evalplatform.stats.multiplicity import Correction

Points = Mapping[str, float]
"""Points by question; a question without points is absent."""


@dataclass(frozen=True)
class Contender:
    """A run as it meets others: its points in the scored arm, and its deltas, by common question."""

    name: str
    points: Points
    deltas: Points


def head_to_head(contenders: Sequence[Contender], questions: Sequence[str]) -> HeadToHead:
    """Return on how many of the questions each contender alone has the most points; equal most points are a tie."""
    wins: Counter[str] = Counter()
    uncontested: Counter[str] = Counter()
    ties = unscored = 0
    tables = [(one.name, one.points) for one in contenders]
    for question in questions:
        scored = [(points[question], name) for name, points in tables if question in points]
        if not scored:
            unscored += 1
            continue
        most = max(scored)[0]
        best = [name for points, name in scored if points == most]
        if len(best) > 1:
            ties += 1
            continue
        wins[best[0]] += 1
        if len(scored) < len(tables):
            uncontested[best[0]] += 1
    runs = tuple(RunWins(run=name, wins=wins[name], uncontested=uncontested[name]) for name, _ in tables)
    return HeadToHead(questions=len(questions), runs=runs, ties=ties, unscored=unscored)


def run_pairs(
    contenders: Sequence[Contender],
    questions: Sequence[str],
    *,
    refusals: Mapping[tuple[str, str], FactorDiffers],
    correction: Correction,
) -> tuple[RunPair, ...]:
    """Return the differences of each two contenders, first minus second, over the questions that both scored.

    Args:
        contenders: in order; every earlier one is first.
        questions: the common questions, in a fixed order.
        refusals: why two of them, named in that order, may not be compared question by question.
        correction: over all pairs' quality, and over all pairs' benefit.
    """
    pairs = [(one, other) for one, other in combinations(contenders, 2) if (one.name, other.name) not in refusals]
    quality = family_of_differences([_differences(one.points, other.points, questions) for one, other in pairs], correction=correction)
    benefit = family_of_differences([_differences(one.deltas, other.deltas, questions) for one, other in pairs], correction=correction)
    compared = {
        (one.name, other.name): RunPair(first=one.name, second=other.name, quality=of_points, benefit=of_deltas)
        for (one, other), of_points, of_deltas in zip(pairs, quality, benefit, strict=True)
    }
    names = [one.name for one in contenders]
    return tuple(compared.get(pair) or RunPair(first=pair[0], second=pair[1], refusal=refusals[pair]) for pair in combinations(names, 2))


def _differences(one: Points, other: Points, questions: Sequence[str]) -> list[float]:
    return [one[question] - other[question] for question in questions if question in one and question in other]
