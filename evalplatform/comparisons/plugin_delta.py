"""The plugin delta: what a plugin set does to every arm of a cell, over two runs that differ in nothing else (treatment-arms spec, 10)."""

from collections.abc import Iterator, Mapping, Sequence

from evalplatform.comparisons.arm_summary import QuestionClusters
from evalplatform.comparisons.comparability import refusals_among, unstated_factors
from evalplatform.comparisons.compared_run import ComparedRun, CostFigures
from evalplatform.comparisons.plugin_delta_records import (
    AnswerTextDelta,
    ControlHasPlugins,
    CostDelta,
    DeltaWarning,
    FewPairs,
    FigureDelta,
    LengthDelta,
    OneHasJudgeMetrics,
    PartialCost,
    PluginDelta,
    QuestionSetsDiffer,
    ScoreDelta,
    SeedsDiffer,
    WrongWayRound,
)
from evalplatform.comparisons.refusals import Refusal, Refused, RunSays, SamePluginLabel, SamePluginSet
from evalplatform.comparisons.run_clusters import common_clusters, labels_of
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.comparisons.significance import family_verdicts
from evalplatform.kernel.seeds import derived_seed
from evalplatform.plugins.plugin_set import NO_PLUGINS_LABEL
from evalplatform.project.policy import LEAST_COVERAGE_RATE
from evalplatform.stats.mean import estimate_mean, plain_mean
from evalplatform.stats.multiplicity import Correction
from evalplatform.stats.paired import PairedEffect, paired_effect

COST_FIGURES = tuple(name for name in CostDelta.model_fields if name != "arm")


def plugin_delta(control: ComparedRun, plugin: ComparedRun, *, correction: Correction = "holm", seed: int = 0) -> PluginDelta | Refused:
    """Return what the plugin set of one run does to every arm, against the other run, or every reason why that cannot be told.

    Points are paired by question: plugin minus control, over the questions that an arm scored in both runs, with Student's interval and
    the two tests that a verdict needs (treatment-arms spec, 9). Where the runs cluster their questions, intervals and tests allow for it
    as those of the runs' own reports do. The family that p-values are corrected over is the arms of this delta.
    Costs are compared as the runs state them, answers by their length. Nothing is rounded; verdicts are decided on unrounded p-values.

    Args:
        control: the run that deltas are taken from, most often the one without plugins.
        plugin: the run with the plugin set.
        correction: `holm` or `bh`.
        seed: of the sign-flip test, whose generator also depends on the arm's name, so that no other arm changes its p-value.
    """
    refusals = plugin_delta_refusals(control, plugin)
    if refusals:
        return Refused(comparison="plugin_delta", runs=(control.name, plugin.name), refusals=tuple(refusals))
    arms, questions = control.identity.arms, control.identity.total_questions
    clusters = common_clusters([control, plugin])
    scores = _score_deltas(control, plugin, clusters, correction=correction, seed=seed)
    is_covered = control.identity.is_judged and questions
    return PluginDelta(
        control=control.identity,
        control_name=control.name,
        plugin_name=plugin.name,
        control_source=control.source,
        plugin_source=plugin.source,
        plugin_set=plugin.identity.plugin_set,
        plugin_set_id=plugin.identity.plugin_set_id,
        scores=scores,
        costs=tuple(_cost_delta(arm, control.arms[arm].cost, plugin.arms[arm].cost) for arm in arms),
        texts=tuple(_text_delta(arm, control, plugin, clusters) for arm in arms),
        cluster_field=None if clusters is None else clusters.field,
        correction=correction,
        coverage_rate=min(score.pairs for score in scores) / questions if is_covered else None,
        warnings=tuple(_warnings(control, plugin, scores)),
        partial_costs=tuple(_partial_costs(control, plugin)),
        not_compared=unstated_factors("plugin_delta", [control, plugin]),
    )


def plugin_delta_refusals(control: ComparedRun, plugin: ComparedRun) -> list[Refusal]:
    """Return every reason why the two runs give no plugin delta; none where they differ in their plugin set alone."""
    return [*_same_plugins(control, plugin), *refusals_among("plugin_delta", [control, plugin])]


def _same_plugins(control: ComparedRun, plugin: ComparedRun) -> Iterator[Refusal]:
    """Yield that there is no plugin to measure. A set is known by its id, however it is spelt; by its label where a run has no id."""
    runs, labels = (control.name, plugin.name), (control.identity.plugin_set, plugin.identity.plugin_set)
    first, second = control.identity.plugin_set_id, plugin.identity.plugin_set_id
    has_both_ids = first is not None and second is not None
    if first == second if has_both_ids else labels[0] == labels[1]:
        yield SamePluginSet(runs=runs, labels=labels)
    elif first is not None and second is not None and labels[0] == labels[1]:
        yield SamePluginLabel(runs=runs, label=labels[0], ids=(first, second))


def _score_deltas(
    control: ComparedRun, plugin: ComparedRun, clusters: QuestionClusters | None, *, correction: Correction, seed: int
) -> tuple[ScoreDelta, ...]:
    arms = control.identity.arms
    pairs = {arm: _pairs(control.identity.question_ids, control.arms[arm].points, plugin.arms[arm].points) for arm in arms}
    differences = {arm: {question: after - before for question, (before, after) in of_arm.items()} for arm, of_arm in pairs.items()}
    effects = [_effect(arm, differences[arm], clusters, seed) for arm in arms]
    verdicts = family_verdicts(effects, correction=correction)
    return tuple(
        ScoreDelta(
            arm=arm,
            pairs=len(pairs[arm]),
            control_mean_points=_mean([before for before, _ in pairs[arm].values()]),
            plugin_mean_points=_mean([after for _, after in pairs[arm].values()]),
            delta_points=_mean(list(differences[arm].values())),
            effect=effect,
            verdict=verdict,
            question_deltas=differences[arm],
        )
        for arm, effect, verdict in zip(arms, effects, verdicts, strict=True)
    )


def _pairs(questions: Sequence[str], control: Mapping[str, float], plugin: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return both values of each question that has both, in the order of the run."""
    return {question: (control[question], plugin[question]) for question in questions if question in control and question in plugin}


def _effect(arm: str, differences: Mapping[str, float], clusters: QuestionClusters | None, seed: int) -> PairedEffect | None:
    if len(differences) < 2:  # answers that nobody judged need no NumPy
        return None
    from numpy.random import default_rng

    rng = default_rng(derived_seed(seed, "sign flip", f"plugin delta:{arm}"))
    return paired_effect(list(differences.values()), clusters=labels_of(clusters, differences), rng=rng)


def _cost_delta(arm: str, control: CostFigures, plugin: CostFigures) -> CostDelta:
    figures = {name: FigureDelta(control=getattr(control, name), plugin=getattr(plugin, name)) for name in COST_FIGURES}
    return CostDelta(arm=arm, **figures)


def _text_delta(arm: str, control: ComparedRun, plugin: ComparedRun, clusters: QuestionClusters | None) -> AnswerTextDelta:
    questions, before, after = control.identity.question_ids, control.arms[arm], plugin.arms[arm]
    return AnswerTextDelta(
        arm=arm,
        raw=_length_delta(questions, before.raw_answer_chars, after.raw_answer_chars, clusters),
        final=_length_delta(questions, before.final_answer_chars, after.final_answer_chars, clusters),
    )


def _length_delta(
    questions: Sequence[str], control: Mapping[str, float], plugin: Mapping[str, float], clusters: QuestionClusters | None
) -> LengthDelta:
    pairs = _pairs(questions, control, plugin)
    differences = [after - before for before, after in pairs.values()]
    estimate = estimate_mean(differences, clusters=labels_of(clusters, pairs))
    return LengthDelta(
        control_answers=len(control),
        plugin_answers=len(plugin),
        control_mean_chars=_mean(list(control.values())),
        plugin_mean_chars=_mean(list(plugin.values())),
        pairs=len(pairs),
        paired_delta_chars=_mean(differences),
        ci_lo_chars=None if estimate is None else estimate.ci_lo,
        ci_hi_chars=None if estimate is None else estimate.ci_hi,
    )


def _mean(numbers: Sequence[float]) -> float | None:
    return plain_mean(numbers) if numbers else None


def _warnings(control: ComparedRun, plugin: ComparedRun, scores: Sequence[ScoreDelta]) -> Iterator[DeltaWarning]:
    before, after = control.identity, plugin.identity
    for run in (control, plugin):
        if run.truncated_reason is not None:
            yield RunTruncated(run=run.name, why=run.truncated_reason)
    if before.is_judged and (few := _few_pairs(scores, before.total_questions)) is not None:
        yield few
    if before.plugin_set != NO_PLUGINS_LABEL and after.plugin_set == NO_PLUGINS_LABEL:
        yield WrongWayRound(control=control.name, plugin_set=before.plugin_set, plain=plugin.name)
    elif before.plugin_set != NO_PLUGINS_LABEL:
        yield ControlHasPlugins(run=control.name, plugin_set=before.plugin_set)
    if control.has_judge_metrics != plugin.has_judge_metrics:
        having, lacking = (control, plugin) if control.has_judge_metrics else (plugin, control)
        yield OneHasJudgeMetrics(having=having.name, lacking=lacking.name)
    sets = (before.question_set_digest, after.question_set_digest)
    if None not in sets and sets[0] != sets[1]:
        yield QuestionSetsDiffer(sides=_sides(control, plugin, sets))
    if before.seed != after.seed:
        yield SeedsDiffer(sides=_sides(control, plugin, (before.seed, after.seed)))


def _few_pairs(scores: Sequence[ScoreDelta], questions: int) -> FewPairs | None:
    few = [score for score in scores if score.pairs < LEAST_COVERAGE_RATE * questions]
    if not few:
        return None
    worst = min(few, key=lambda score: score.pairs)
    return FewPairs(
        arms=tuple(score.arm for score in few),
        worst_arm=worst.arm,
        pairs=worst.pairs,
        most_pairs=max(score.pairs for score in few),
        questions=questions,
    )


def _sides(control: ComparedRun, plugin: ComparedRun, says: tuple[object, object]) -> tuple[RunSays, RunSays]:
    first, second = (None if value is None else str(value) for value in says)
    return RunSays(run=control.name, says=first), RunSays(run=plugin.name, says=second)


def _partial_costs(control: ComparedRun, plugin: ComparedRun) -> Iterator[PartialCost]:
    for arm in control.identity.arms:
        for run in (control, plugin):
            cost = run.arms[arm].cost
            if cost.is_partial and cost.answers is not None:
                yield PartialCost(arm=arm, run=run.name, priced_answers=cost.priced_answers or 0, answers=cost.answers)
