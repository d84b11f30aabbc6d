"""Checks on a cell's scores under one judge."""

from collections.abc import Mapping
from dataclasses import dataclass

from evalplatform.comparisons.coverage import paired_coverage_rate
from evalplatform.comparisons.question_scores import QuestionScores
from evalplatform.kernel.text import plural
from evalplatform.project.policy import SuiteChecks
from evalplatform.reports import words
from evalplatform.stages import judged_scores
from evalplatform.stages.checks.check import EXAMPLES_SHOWN, Check, Finding, not_told
from evalplatform.stages.checks.unpriced import CallPrices, unpriced_finding
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST


@dataclass(frozen=True)
class ScoreEvidence:
    """Each arm's points by question, out of how many questions, and the prices of the judge's calls."""

    scores: Mapping[str, QuestionScores]
    baseline_arm: str
    questions: int
    prices: CallPrices


def _coverage(evidence: ScoreEvidence, settings: SuiteChecks) -> Finding:
    points = {arm: table.points for arm, table in evidence.scores.items()}
    if not evidence.questions:
        return not_told("There are no questions.")
    rate, where = paired_coverage_rate(points, baseline_arm=evidence.baseline_arm, questions=evidence.questions), "in both arms"
    if rate is None:
        rate, where = len(points[evidence.baseline_arm]) / evidence.questions, "in the only arm"
    limit = settings.coverage.least_scored_rate
    found = f"{words.share(rate)} of {plural(evidence.questions, 'question')} have points {where}"
    unscored = [f"{arm}: {words.tally(table.unscored_reasons)}" for arm, table in evidence.scores.items() if table.unscored_reasons]
    return Finding(
        passed=rate >= limit,
        sentence=f"{found}." if rate >= limit else f"{found}: what is left out may differ from what is not.",
        value=rate,
        unit="share of questions",
        limit=limit,
        examples=tuple(unscored[:EXAMPLES_SHOWN]),
    )


def _constant_scores(evidence: ScoreEvidence, settings: SuiteChecks) -> Finding:
    told = {arm: table.points for arm, table in evidence.scores.items() if len(table.points) >= MIN_PAIRS_FOR_TEST}
    if not told:
        return not_told(f"No arm has {MIN_PAIRS_FOR_TEST} scored questions, the fewest that equal points say something of.")
    limit = settings.constant_scores.least_distinct_points
    every = {point for points in told.values() for point in points.values()}
    # An arm that got everything right (or wrong) is flat because the scale ends there, where the same judge tells other answers apart.
    distinct = {arm: len(set(points.values())) for arm, points in told.items() if len(every) == 1 or not _at_an_end(points)}
    flat = [arm for arm, number in distinct.items() if number < limit]
    return Finding(
        passed=not flat,
        sentence=_flat_sentence(flat, told, every) if flat else "The judge told the answers of every arm apart.",
        value=min(distinct.values(), default=len(every)),
        unit="different points in the flattest arm",
        limit=limit,
        examples=tuple(flat[:EXAMPLES_SHOWN]),
    )


def _at_an_end(points: Mapping[str, float]) -> bool:
    return set(points.values()) in ({0.0}, {100.0})


def _flat_sentence(flat: list[str], told: Mapping[str, Mapping[str, float]], every: set[float]) -> str:
    if len(every) == 1:
        found = f"Every answer of every arm has {words.points(next(iter(every)))} points"
    else:
        number = len(set(told[flat[0]].values()))
        found = f"{words.listed(flat[:EXAMPLES_SHOWN])}: {plural(number, 'different score')} over {plural(len(told[flat[0]]), 'question')}"
    return f"{found}: the judge cannot tell these answers apart, or the questions are all too easy or too hard for them."


def _unpriced(evidence: ScoreEvidence, settings: SuiteChecks) -> Finding:
    return unpriced_finding(evidence.prices, settings, what="judge")


SCORE_CHECKS: tuple[Check[ScoreEvidence], ...] = (
    Check(
        name="coverage",
        asset=judged_scores.ASSET,
        severity="error",
        description="Was enough scored to compare the arms? The least share of questions scored in both arms.",
        find=_coverage,
        setting="least_scored_rate",
        in_report=False,  # the report's own first notice
    ),
    Check(
        name="constant_scores",
        asset=judged_scores.ASSET,
        severity="warn",
        description="Did the judge tell answers apart? Points that are all equal show no difference, whatever there is. An arm with 0 or "
        "100 throughout is not counted where other points differ.",
        find=_constant_scores,
        setting="least_distinct_points",
    ),
    Check(
        name="unpriced",
        asset=judged_scores.ASSET,
        severity="warn",
        description="Is the price of every judge call known, whichever run paid for it? Costs and spend caps leave out those without one.",
        find=_unpriced,
        setting="most_unpriced_rate",
        in_report=False,  # the header counts the judge calls without a price
    ),
)
