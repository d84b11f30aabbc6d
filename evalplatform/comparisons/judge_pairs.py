"""How far judges agree about the same answers: pair by pair, and all of them together."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeVar

from evalplatform.comparisons.cross_judge_records import AlphaOrReason, CategoryAgreement, JudgePair, Measure, RunUnderJudges
from evalplatform.comparisons.pass_rule import points_pass
from evalplatform.kernel.seeds import derived_seed
from evalplatform.stats.agreement import Kappa, RankCorrelation, cohen_kappa, rank_correlation
from evalplatform.stats.krippendorff import Level, krippendorff_alpha
from evalplatform.stats.sign_test import TIE
from evalplatform.stats.wilson import wilson_interval

if TYPE_CHECKING:
    from numpy.random import Generator

NO_PAIR = "both judges scored no question in common"
ONE_CATEGORY = "not defined: both put everything into one category"
ONE_NUMBER = "not defined: one of them gave the same points throughout, or there are fewer than two pairs"
ONE_JUDGE = "only one judge counts"
NO_VARIATION = "not defined: no variation, or nothing that two judges scored"
CLUSTERED = "questions are clustered"

Deltas = Mapping[str, Mapping[str, float]]
"""Arm minus baseline, by measure and question."""
Side = Literal["higher", "same", "lower"]
WithInterval = TypeVar("WithInterval", Kappa, RankCorrelation)


def side_of(delta: float) -> Side:
    """Return on which side of the baseline a question's delta puts the arm; rounding noise is the same."""
    return "same" if abs(delta) <= TIE else "higher" if delta > 0 else "lower"


def judge_pairs(run: RunUnderJudges, arm: str, deltas: Deltas) -> tuple[JudgePair, ...]:
    """Return how far each two of the measures that count agree about an arm.

    Intervals take questions to be independent; where they are clustered, there are none.
    """
    return tuple(_pair(run, arm, deltas, first, second) for first, second in combinations(run.counted, 2))


def direction_alpha(run: RunUnderJudges, arm: str, deltas: Deltas, *, seed: int) -> AlphaOrReason:
    """Return Krippendorff's alpha of the directions of each question's delta (higher, same, lower), as categories."""
    sides = {name: {question: side_of(delta) for question, delta in of_measure.items()} for name, of_measure in deltas.items()}
    units = [[sides[measure.name].get(question) for measure in run.counted] for question in run.question_texts]
    return _alpha(run, units, list(run.question_texts), level="nominal", rng=_generator(seed, "directions", run.name, arm))


def points_alpha(run: RunUnderJudges, *, seed: int) -> AlphaOrReason:
    """Return Krippendorff's alpha of the points of all answers; the answers to one question are one cluster of its interval."""
    places = [(arm, question) for question in run.question_texts for arm in run.arms]
    units = [[measure.points.get(arm, {}).get(question) for measure in run.counted] for arm, question in places]
    return _alpha(run, units, [question for _, question in places], level="interval", rng=_generator(seed, "points", run.name))


def _alpha(
    run: RunUnderJudges, units: Sequence[Sequence[Hashable | None]], questions: Sequence[str], *, level: Level, rng: "Generator"
) -> AlphaOrReason:
    if len(run.counted) < 2:
        return AlphaOrReason(alpha=None, reason=ONE_JUDGE)
    clusters = list(questions) if run.clusters is None else [run.clusters.labels[question] for question in questions]
    alpha = krippendorff_alpha(units, level=level, clusters=clusters, rng=rng)
    return AlphaOrReason(alpha=alpha, reason=None if alpha is not None else NO_VARIATION)


def _generator(seed: int, *names: str) -> "Generator":
    from numpy.random import default_rng

    return default_rng(derived_seed(seed, "krippendorff", *names))


def _pair(run: RunUnderJudges, arm: str, deltas: Deltas, first: Measure, second: Measure) -> JudgePair:
    clustered = run.clusters is not None
    sides = [(side_of(one), side_of(other)) for one, other in _in_common(deltas[first.name], deltas[second.name])]
    points = _in_common(first.points.get(arm, {}), second.points.get(arm, {}))
    correlation = rank_correlation(points) if points else None
    mark = run.pass_points
    verdicts = None if mark is None else [(points_pass(one, mark), points_pass(other, mark)) for one, other in points]
    return JudgePair(
        measures=(first.name, second.name),
        directions=_categories(sides, clustered=clustered),
        rank_correlation=_without_interval(correlation) if clustered and correlation is not None else correlation,
        rank_correlation_reason=None if correlation is not None else ONE_NUMBER if points else NO_PAIR,
        verdicts=None if verdicts is None else _categories(verdicts, clustered=clustered),
    )


def _in_common(first: Mapping[str, float], second: Mapping[str, float]) -> list[tuple[float, float]]:
    return [(number, second[question]) for question, number in first.items() if question in second]


def _categories(pairs: Sequence[tuple[Hashable, Hashable]], *, clustered: bool) -> CategoryAgreement:
    agreeing = sum(first == second for first, second in pairs)
    kappa = cohen_kappa(pairs) if pairs else None
    return CategoryAgreement(
        pairs=len(pairs),
        agreeing=agreeing,
        rate=None if clustered else wilson_interval(agreeing, len(pairs)),
        kappa=_without_interval(kappa) if clustered and kappa is not None else kappa,
        kappa_reason=None if kappa is not None else ONE_CATEGORY if pairs else NO_PAIR,
    )


def _without_interval(found: WithInterval) -> WithInterval:
    return found.with_changes(ci_lo=None, ci_hi=None, ci_reason=CLUSTERED)
