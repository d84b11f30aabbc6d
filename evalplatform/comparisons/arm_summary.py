"""The summary of one cell under one judge: scores, deltas, interactions, costs."""

from collections.abc import Iterable, Mapping, Sequence

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.comparisons.arm_costs import arm_costs
from evalplatform.comparisons.arm_retrieval import RequiredDocuments, arm_retrievals
from evalplatform.comparisons.coverage import paired_coverage_rate
from evalplatform.comparisons.interactions import EffectOf, combined_arms, interactions
from evalplatform.comparisons.question_scores import QuestionScores, question_scores
from evalplatform.comparisons.records import ArmDelta, ArmScore, ArmSummary, PlacedPoints
from evalplatform.comparisons.significance import family_verdicts
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.kernel.seeds import derived_seed
from evalplatform.kernel.values import Value
from evalplatform.stats.mean import estimate_mean, plain_mean
from evalplatform.stats.multiplicity import Correction
from evalplatform.stats.paired import PairedEffect, paired_effect


class QuestionClusters(Value):
    """Which questions are not independent of each other, such as those about one page: a label for every question of the set.

    `field` is the question field that the labels come from.
    """

    field: str
    labels: dict[str, str]


def summarise_arms(
    *,
    arms: Sequence[str],
    baseline_arm: str,
    question_ids: Sequence[str],
    answers: Sequence[ArmAnswer],
    scores: Iterable[PlacedPoints] = (),
    timings: Sequence[CallTiming] = (),
    draws: int = 1,
    correction: Correction = "holm",
    specs: Mapping[str, str] | None = None,
    clusters: QuestionClusters | None = None,
    required_documents: RequiredDocuments | None = None,
    seed: int = 0,
) -> ArmSummary:
    """Return everything a report says in numbers about one cell under one judge, unrounded.

    A question's score is the mean over its scored draws. Deltas are paired on the questions that both arms scored, interactions on those
    that all four arms scored. Each family (deltas, interactions) is corrected by itself, and verdicts are decided on unrounded p-values.
    Without scores (nothing was judged) there are costs, and no points and no coverage.

    Args:
        arms: the arms, in order.
        baseline_arm: the arm that deltas are taken from.
        question_ids: the questions that were to be asked, in order.
        answers: one row per arm, question and draw.
        scores: points with their places, read once; empty where nothing was judged.
        timings: how long the calls took.
        draws: how many draws each question was to have.
        correction: `holm` or `bh`.
        specs: each arm's spec; they say which arm combines which, where arms have names of their own.
        clusters: questions that depend on each other; intervals and tests then use a clustered error.
        required_documents: what each question requires, where retrieval is to be measured.
        seed: of the sign-flip test. Each effect's generator is derived from its name too, so that no other arm changes its p-value.

    Raises:
        UnknownNameError: the baseline is not an arm, or a row names an unknown arm or question.
        InputError: two rows for one place, a draw beyond `draws`, or a question without a cluster label.
    """
    if baseline_arm not in arms:
        raise UnknownNameError("baseline arm", baseline_arm, arms, field="baseline_arm")
    _check_labels(clusters, question_ids)
    by_arm = question_scores(scores, arms=arms, question_ids=question_ids, draws=draws)
    points, judged = {arm: table.points for arm, table in by_arm.items()}, any(table.judged for table in by_arm.values())
    effect_of = _effect_function(seed, clusters)
    combined = combined_arms(arms, baseline_arm=baseline_arm, specs=specs or {})
    deltas = _deltas(points, arms=arms, baseline_arm=baseline_arm, correction=correction, effect_of=effect_of)
    return ArmSummary(
        baseline_arm=baseline_arm,
        arms=tuple(arms),
        questions=len(question_ids),
        draws=draws,
        scores={arm: _arm_score(arm, table, len(question_ids), clusters) for arm, table in by_arm.items()},
        deltas=deltas,
        interactions=interactions(points, combined=combined, baseline_arm=baseline_arm, correction=correction, effect_of=effect_of),
        costs=arm_costs(arms, answers=answers, timings=timings),
        retrieval=arm_retrievals(arms, answers=answers, required=required_documents or {}, clusters=clusters.labels if clusters else None),
        coverage_rate=paired_coverage_rate(points, baseline_arm=baseline_arm, questions=len(question_ids)) if judged else None,
        cluster_field=None if clusters is None else clusters.field,
    )


def _check_labels(clusters: QuestionClusters | None, question_ids: Sequence[str]) -> None:
    if clusters is None:
        return
    unlabelled = [question_id for question_id in question_ids if question_id not in clusters.labels]
    if unlabelled:
        raise InputError(f"question {unlabelled[0]!r} has no {clusters.field!r}, so its cluster is unknown.", field="cluster_field")


def _effect_function(seed: int, clusters: QuestionClusters | None) -> EffectOf:
    def effect_of(label: str, differences: Mapping[str, float]) -> PairedEffect | None:
        if len(differences) < 2:
            return None
        from numpy.random import default_rng

        groups = None if clusters is None else [clusters.labels[question] for question in differences]
        return paired_effect(list(differences.values()), clusters=groups, rng=default_rng(derived_seed(seed, "sign flip", label)))

    return effect_of


def _arm_score(arm: str, table: QuestionScores, questions: int, clusters: QuestionClusters | None) -> ArmScore:
    points = list(table.points.values())
    groups = None if clusters is None else [clusters.labels[question] for question in table.points]
    estimate = estimate_mean(points, clusters=groups)
    return ArmScore(
        arm=arm,
        questions=questions,
        scored=len(points),
        unscored_reasons=table.unscored_reasons,
        mean_points=plain_mean(points) if points else None,
        sd_points=None if estimate is None else estimate.sd,
        ci_lo_points=None if estimate is None else estimate.ci_lo,
        ci_hi_points=None if estimate is None else estimate.ci_hi,
    )


def _deltas(
    points: Mapping[str, Mapping[str, float]], *, arms: Sequence[str], baseline_arm: str, correction: Correction, effect_of: EffectOf
) -> dict[str, ArmDelta]:
    candidates = [arm for arm in arms if arm != baseline_arm]
    baseline = points[baseline_arm]
    differences = {
        arm: {question: points[arm][question] - baseline[question] for question in baseline if question in points[arm]}
        for arm in candidates
    }
    effects = [effect_of(f"delta:{arm}", differences[arm]) for arm in candidates]
    verdicts = family_verdicts(effects, correction=correction)
    return {
        arm: ArmDelta(
            arm=arm,
            baseline_arm=baseline_arm,
            pairs=len(differences[arm]),
            effect=effect,
            significant=verdict.significant,
            p_adjusted=verdict.p_adjusted,
            significant_adjusted=verdict.significant_adjusted,
            correction=correction,
            family_size=verdict.family_size,
            family_tested=verdict.family_tested,
            question_deltas=differences[arm],
        )
        for arm, effect, verdict in zip(candidates, effects, verdicts, strict=True)
    }
