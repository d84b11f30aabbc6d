"""Is an arm's verdict a property of the arm, or of the judge that scored it? The same answers under several judges.

Each measure (one judge's points) gives each arm a mean paired delta and an exact sign test; the tests of an arm are corrected by Holm's
method over the measures that count. Source: treatment-arms spec, section 16 (cross-judge).
"""

from collections.abc import Mapping, Sequence
from math import fsum

from evalplatform.comparisons.coverage import paired_coverage_rate
from evalplatform.comparisons.cross_judge_records import (
    ArmLabel,
    ArmUnderJudges,
    CrossJudgedRun,
    Direction,
    Measure,
    MeasureDelta,
    RunUnderJudges,
)
from evalplatform.comparisons.judge_pairs import direction_alpha, judge_pairs, points_alpha
from evalplatform.comparisons.significance import ALPHA
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.stats.clustered import values_by_cluster
from evalplatform.stats.mean import MeanEstimate, estimate_mean
from evalplatform.stats.multiplicity import holm
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST
from evalplatform.stats.sign_test import SignTest, sign_test


def cross_judge(run: RunUnderJudges, *, seed: int = 0) -> CrossJudgedRun:
    """Return every arm's label, the deltas behind it, and how far the judges agree.

    Measures that do not count (`Measure.left_out`) have their deltas, and no say in corrections, labels or agreement.

    Args:
        run: the answers' points under every judge.
        seed: of the bootstrap intervals; each has a generator derived from its name too.

    Raises:
        InputError: the run has nothing to compare; see `refuse_nothing_to_compare`.
    """
    refuse_nothing_to_compare(run.arms, run.baseline_arm, source=run.source)
    return CrossJudgedRun(
        run=run,
        arms=tuple(_arm(run, arm, seed) for arm in run.treatment_arms),
        points_alpha=points_alpha(run, seed=seed),
        coverage_rates={
            measure.name: paired_coverage_rate(
                {arm: measure.points.get(arm, {}) for arm in run.arms}, baseline_arm=run.baseline_arm, questions=len(run.question_texts)
            )
            for measure in run.measures
        },
    )


def refuse_nothing_to_compare(arms: Sequence[str], baseline_arm: str, *, source: str) -> None:
    """Return nothing if a run has a baseline and another arm; called before anything is paid for.

    Raises:
        UnknownNameError: the baseline is not an arm.
        InputError: there is no arm beside it.
    """
    if baseline_arm not in arms:
        raise UnknownNameError("baseline arm", baseline_arm, arms, file=source, field="baseline_arm")
    if len(arms) < 2:
        raise InputError(f"holds the baseline arm {baseline_arm!r} alone; there is nothing to compare it with.", file=source, field="arms")


def question_deltas(run: RunUnderJudges, measure: Measure, arm: str) -> dict[str, float]:
    """Return arm minus baseline by question, in the run's order, over the questions that the measure scored in both."""
    of_arm, of_baseline = measure.points.get(arm, {}), measure.points.get(run.baseline_arm, {})
    return {
        question: of_arm[question] - of_baseline[question]
        for question in run.question_texts
        if question in of_arm and question in of_baseline
    }


def arm_label(deltas: Sequence[MeasureDelta]) -> ArmLabel:
    """Return the label that the counted measures' deltas come to; see `ArmLabel`."""
    counted = [delta for delta in deltas if delta.counts]
    if all(delta.significant is None for delta in counted):
        return ArmLabel(kind="not_tested")
    significant = [delta for delta in counted if delta.significant]
    directions = {delta.direction for delta in significant}
    one_judge = len({delta.judge for delta in significant}) == 1
    if not significant:
        return ArmLabel(kind="no_detectable_effect", one_judge=len({delta.judge for delta in counted}) == 1)
    if len(directions) > 1:
        return ArmLabel(kind="judge_dependent", one_judge=one_judge)
    (direction,) = directions
    means = [delta.estimate.mean for delta in counted if delta.estimate is not None]
    on_that_side = all(mean > 0 if direction == "+" else mean < 0 for mean in means)
    return ArmLabel(kind="consistent" if on_that_side else "leaning", direction=direction, one_judge=one_judge)


def _arm(run: RunUnderJudges, arm: str, seed: int) -> ArmUnderJudges:
    by_measure = {measure.name: question_deltas(run, measure, arm) for measure in run.measures}
    deltas = _deltas(run, by_measure)
    return ArmUnderJudges(
        arm=arm,
        label=arm_label(deltas),
        deltas=deltas,
        pairs=judge_pairs(run, arm, by_measure),
        direction_alpha=direction_alpha(run, arm, by_measure, seed=seed),
    )


def _deltas(run: RunUnderJudges, by_measure: Mapping[str, Mapping[str, float]]) -> tuple[MeasureDelta, ...]:
    tests = [_sign_test(run, by_measure[measure.name]) for measure in run.measures]
    corrected = holm(
        [test.p_value if test is not None and measure.counts else None for test, measure in zip(tests, run.measures, strict=True)]
    )
    return tuple(
        MeasureDelta(
            measure=measure.name,
            judge=measure.judge,
            counts=measure.counts,
            pairs=len(by_measure[measure.name]),
            estimate=_estimate(run, by_measure[measure.name]),
            sign=test,
            p_holm=p_holm,
            significant=None if p_holm is None else p_holm < ALPHA,
            direction=None if p_holm is None or test is None else _direction(test),
        )
        for measure, test, p_holm in zip(run.measures, tests, corrected, strict=True)
    )


def _estimate(run: RunUnderJudges, deltas: Mapping[str, float]) -> MeanEstimate | None:
    labels = None if run.clusters is None else [run.clusters.labels[question] for question in deltas]
    return estimate_mean(list(deltas.values()), clusters=labels)


def _sign_test(run: RunUnderJudges, deltas: Mapping[str, float]) -> SignTest | None:
    """Return the test over independent units: questions, or clusters by the sum of their deltas."""
    units = list(deltas.values())
    if run.clusters is not None:
        groups = values_by_cluster(units, [run.clusters.labels[question] for question in deltas])
        units = [fsum(group) for group in groups.values()]
    return sign_test(units) if len(units) >= MIN_PAIRS_FOR_TEST else None


def _direction(test: SignTest) -> Direction | None:
    if test.wins == test.losses:
        return None
    return "+" if test.wins > test.losses else "-"
