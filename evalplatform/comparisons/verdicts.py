"""Verdicts: which answers pass at a threshold, how often each arm does, and whether arms differ in it. Nothing is rounded.

A pure recomputation of scores: another threshold is another reading of the same points, and asks nobody.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from evalplatform.comparisons.pass_rule import points_pass
from evalplatform.comparisons.question_scores import NOT_JUDGED, question_scores
from evalplatform.comparisons.records import PlacedPoints
from evalplatform.comparisons.significance import ALPHA
from evalplatform.kernel.values import Value
from evalplatform.stats.multiplicity import CORRECTIONS, Correction
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST
from evalplatform.stats.paired_rates import PairedPasses, RateDifference, mcnemar_p_value, paired_rate_difference
from evalplatform.stats.wilson import RateInterval, wilson_interval

Outcome = Literal["passed", "failed", "unscored"]


class QuestionVerdict(Value):
    """One arm's verdict on one question. `points` is the mean over its scored draws; without one it is None, and `reason` says why."""

    question_id: str
    arm: str
    verdict: Outcome
    points: float | None
    reason: str | None


class ArmPasses(Value):
    """How often one arm passed, over the questions it scored. Unscored questions are counted by reason, and never as failed.

    `interval` is Wilson's at 95%; None where questions are clustered, since it takes them for independent, and without a scored question.
    """

    arm: str
    questions: int
    passed: int
    failed: int
    unscored: int
    unscored_reasons: dict[str, int] = Field(default_factory=dict)
    pass_rate: float | None
    interval: RateInterval | None


class PassDelta(Value):
    """A candidate's pass rate minus the baseline arm's, over the questions that both scored.

    `p_exact` is McNemar's exact test; `p_exact`, `p_adjusted` and `significant_adjusted` are None below six pairs and where questions are
    clustered, and `difference` is None without a pair; clustered, it has no interval of its own and is not given.
    """

    arm: str
    baseline_arm: str
    passes: PairedPasses
    delta_rate: float | None
    difference: RateDifference | None
    p_exact: float | None
    p_adjusted: float | None
    significant_adjusted: bool | None
    correction: Correction
    family_tested: int


class ArmVerdicts(Value):
    """The verdicts of one cell under one judge at `pass_points`. `clustered` says that questions depend on each other."""

    pass_points: float
    baseline_arm: str
    draws: int
    clustered: bool
    arms: tuple[ArmPasses, ...]
    deltas: tuple[PassDelta, ...]


def question_verdicts(
    scores: Sequence[PlacedPoints], *, arms: Sequence[str], question_ids: Sequence[str], draws: int, pass_points: float
) -> list[QuestionVerdict]:
    """Return the verdict of every question under every arm, in the order question, arm.

    A question is judged by the mean of its points over its scored draws, the number that means and deltas are made of. It is unscored where
    no draw has points; the reason is then that of the first draw.

    Args:
        scores: points with their places.
        arms: the arms, in order.
        question_ids: the questions, in order.
        draws: how many draws each question was to have.
        pass_points: a question passes at this many points or more.

    Raises:
        UnknownNameError, InputError: as `question_scores` does.
    """
    tables = question_scores(scores, arms=arms, question_ids=question_ids, draws=draws)
    reasons: dict[tuple[str, str], str] = {}
    for row in scores:
        if row.points is None:
            reasons.setdefault((row.question_id, row.arm), row.reason or NOT_JUDGED)
    return [
        _question_verdict(question, arm, table.points.get(question), pass_points, reasons.get((question, arm), NOT_JUDGED))
        for question in question_ids
        for arm, table in tables.items()
    ]


def arm_verdicts(
    verdicts: Sequence[QuestionVerdict],
    *,
    arms: Sequence[str],
    baseline_arm: str,
    pass_points: float,
    draws: int,
    correction: Correction,
    clustered: bool,
) -> ArmVerdicts:
    """Return how often every arm passed, and its paired difference from the baseline arm.

    Args:
        verdicts: those of every question and arm.
        arms: the arms, in order.
        baseline_arm: the arm that the others are compared with.
        pass_points: what they passed at.
        draws: how many draws a question's points are the mean of, at most.
        correction: `holm` or `bh`, over all tested arms.
        clustered: whether questions depend on each other; then there is no interval and no test, which would take them for independent.
    """
    outcomes: dict[str, dict[str, bool]] = {arm: {} for arm in arms}
    for row in verdicts:
        if row.verdict != "unscored":
            outcomes[row.arm][row.question_id] = row.verdict == "passed"
    candidates = [arm for arm in arms if arm != baseline_arm]
    paired = [_paired(outcomes[arm], outcomes[baseline_arm]) for arm in candidates]
    p_values = [None if clustered or passes.pairs < MIN_PAIRS_FOR_TEST else mcnemar_p_value(passes) for passes in paired]
    adjusted = CORRECTIONS[correction](p_values)
    tested = sum(p_value is not None for p_value in p_values)
    deltas = tuple(
        PassDelta(
            arm=arm,
            baseline_arm=baseline_arm,
            passes=passes,
            delta_rate=(passes.candidate_alone - passes.baseline_alone) / passes.pairs if passes.pairs else None,
            difference=None if clustered else paired_rate_difference(passes),
            p_exact=p_value,
            p_adjusted=p_adjusted,
            significant_adjusted=None if p_adjusted is None else p_adjusted < ALPHA,
            correction=correction,
            family_tested=tested,
        )
        for arm, passes, p_value, p_adjusted in zip(candidates, paired, p_values, adjusted, strict=True)
    )
    return ArmVerdicts(
        pass_points=pass_points,
        baseline_arm=baseline_arm,
        draws=draws,
        clustered=clustered,
        arms=tuple(_arm_passes(arm, verdicts, clustered) for arm in arms),
        deltas=deltas,
    )


def _question_verdict(question: str, arm: str, points: float | None, pass_points: float, reason: str) -> QuestionVerdict:
    if points is None:
        return QuestionVerdict(question_id=question, arm=arm, verdict="unscored", points=None, reason=reason)
    verdict: Outcome = "passed" if points_pass(points, pass_points) else "failed"
    return QuestionVerdict(question_id=question, arm=arm, verdict=verdict, points=points, reason=None)


def _arm_passes(arm: str, verdicts: Sequence[QuestionVerdict], clustered: bool) -> ArmPasses:
    own = [row for row in verdicts if row.arm == arm]
    counts = Counter(row.verdict for row in own)
    scored = counts["passed"] + counts["failed"]
    reasons = Counter((row.reason or "").split(": ")[0] for row in own if row.verdict == "unscored")
    return ArmPasses(
        arm=arm,
        questions=len(own),
        passed=counts["passed"],
        failed=counts["failed"],
        unscored=counts["unscored"],
        unscored_reasons=dict(sorted(reasons.items())),
        pass_rate=counts["passed"] / scored if scored else None,
        interval=None if clustered else wilson_interval(counts["passed"], scored),
    )


def _paired(candidate: Mapping[str, bool], baseline: Mapping[str, bool]) -> PairedPasses:
    pairs = Counter((candidate[question], baseline[question]) for question in baseline if question in candidate)
    return PairedPasses(
        both=pairs[True, True], candidate_alone=pairs[True, False], baseline_alone=pairs[False, True], neither=pairs[False, False]
    )
