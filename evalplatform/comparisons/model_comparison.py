"""Runs beside each other over a shared baseline: what one arm gains in each, and who answers best with it."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from evalplatform.comparisons.arm_differences import Column, family_of_differences, known, known_labels
from evalplatform.comparisons.compared_run import ComparedArm, ComparedRun
from evalplatform.comparisons.difficulty_rows import difficulty_rows
from evalplatform.comparisons.head_to_head import Contender, differences_of, head_to_head, run_pairs
from evalplatform.comparisons.model_comparison_records import (
    ArmDifference,
    MeanInterval,
    ModelComparison,
    PooledReplicates,
    RankedRun,
    RunOrigin,
    RunRow,
    Uncovered,
)
from evalplatform.comparisons.refusals import ComparisonKind, NoCommonQuestion, Refused
from evalplatform.comparisons.replicates import pooled_runs
from evalplatform.comparisons.rivals import rival_refusals, rival_warnings, scored_arm
from evalplatform.comparisons.run_clusters import common_clusters, labels_of
from evalplatform.comparisons.run_names import check_run_names
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.project.policy import LEAST_COVERAGE_RATE
from evalplatform.stats.mean import estimate_mean, plain_mean
from evalplatform.stats.multiplicity import Correction

COMPARISON: ComparisonKind = "model_comparison"

_NOT_IN_RUN = ComparedArm(points={})
"""Stands for the scored arm in a run that has only its baseline."""


def compare_models(
    runs: Sequence[ComparedRun], *, treatment_arm: str | None = None, pool_replicates: bool = False, correction: Correction = "holm"
) -> ModelComparison | Refused:
    """Return the runs beside each other, or every reason why they may not be compared.

    All numbers are of the questions that every run has, so that neither the order of the runs nor that of their questions changes one.
    A run with points for too few of them is in no ranking, and named in `uncovered`.
    Deltas are means of paired differences; significance is decided on unrounded p-values, corrected over the runs.

    Args:
        runs: one or more, in the order of the rows. A single one is checked for nothing that takes two.
        treatment_arm: the arm that every run must be scored on; None takes the only one that is scored.
        pool_replicates: average runs of one configuration into one row, instead of refusing them.
        correction: `holm` or `bh`.

    Raises:
        InputError: no run, a run without a name or two with one name, a baseline that is no arm of its run, or a treatment arm that is the
            baseline.
    """
    _check(runs, treatment_arm)
    refusals = list(rival_refusals(runs, pinned=treatment_arm, pool_replicates=pool_replicates))
    names = tuple(run.name for run in runs)
    if refusals:
        return Refused(comparison=COMPARISON, runs=names, refusals=tuple(refusals))
    arm = scored_arm(runs, treatment_arm)
    rows, pooled = pooled_runs(runs, treatment_arm=arm) if pool_replicates else (list(runs), [])
    common = sorted(_in_all([run.compared_questions for run in rows]))
    if not common:
        return Refused(comparison=COMPARISON, runs=names, refusals=(NoCommonQuestion(runs=names),))
    sides = [_Side.of(run, arm, common) for run in rows]
    asked = _in_all([run.identity.question_ids for run in runs])
    uncovered = [few for run in rows if (few := _uncovered(run, arm, asked)) is not None]
    return _compared(sides, common, treatment_arm=arm, correction=correction, pooled=pooled, uncovered=uncovered).model_copy(
        update={"warnings": tuple(rival_warnings(runs, treatment_arm=arm)), "origins": tuple(map(_origin, runs))}
    )


@dataclass(frozen=True)
class _Side:
    """A run over the common questions: points of the baseline and the scored arm, and their paired differences."""

    run: ComparedRun
    baseline: Column
    contender: Contender

    @classmethod
    def of(cls, run: ComparedRun, arm: str | None, common: Sequence[str]) -> "_Side":
        baseline, points = (list(map(table.get, common)) for table in (run.arms[run.identity.baseline_arm].points, _arm(run, arm).points))
        return cls(run=run, baseline=baseline, contender=Contender(run.name, points, differences_of(points, baseline)))


def _in_all(questions: Sequence[Sequence[str]]) -> set[str]:
    """Return the questions that are in every list; most often all lists are one."""
    return set(questions[0]).intersection(*(of_run for of_run in questions[1:] if of_run != questions[0]))


def _uncovered(run: ComparedRun, treatment_arm: str | None, asked: set[str]) -> Uncovered | None:
    """Return for how few of the questions asked a run has points, if that is too little.

    A run that has no arm beside its baseline needs no others; one whose other arms were never scored has no pair.
    """
    arms = (run.identity.baseline_arm, *((treatment_arm,) if treatment_arm in run.arms else run.treatment_arms))
    pairs = len(asked.intersection(*(run.arms[arm].points for arm in arms)))
    return Uncovered(run=run.name, arms=arms, pairs=pairs, questions=len(asked)) if pairs < LEAST_COVERAGE_RATE * len(asked) else None


def _check(runs: Sequence[ComparedRun], treatment_arm: str | None) -> None:
    check_run_names([run.name for run in runs], field="runs")
    for run in runs:
        if run.identity.baseline_arm not in run.arms:
            raise UnknownNameError("baseline arm", run.identity.baseline_arm, run.arms, file=run.source, field="baseline_arm")
    if treatment_arm is not None and treatment_arm in {run.identity.baseline_arm for run in runs}:
        raise InputError(f"{treatment_arm!r} is the baseline arm; name an arm that is compared with it.", field="--treatment-arm")


def _compared(
    sides: Sequence[_Side],
    common: Sequence[str],
    *,
    treatment_arm: str | None,
    correction: Correction,
    pooled: Sequence[PooledReplicates],
    uncovered: Sequence[Uncovered],
) -> ModelComparison:
    contenders, runs = [side.contender for side in sides], [side.run for side in sides]
    clusters = labels_of(common_clusters(runs), common)
    deltas = family_of_differences([one.deltas for one in contenders], clusters=clusters, correction=correction)
    replicates = {pool.label: pool.runs for pool in pooled}
    rows = tuple(
        _row(side, delta, treatment_arm, clusters, replicates.get(side.run.name, ())) for side, delta in zip(sides, deltas, strict=True)
    )
    identity = runs[0].identity
    ranked = {row.run for row in rows} - {few.run for few in uncovered}
    return ModelComparison(
        baseline_arm=identity.baseline_arm,
        treatment_arm=treatment_arm,
        library_name=identity.library_name,
        common_questions=len(common),
        is_judged=identity.is_judged,
        uncovered=tuple(uncovered),
        correction=correction,
        runs=rows,
        pooled=tuple(pooled),
        difficulty=difficulty_rows(contenders, common, stated=[run.difficulty for run in runs], clusters=clusters),
        head_to_head=head_to_head(contenders),
        pairs=run_pairs(contenders, clusters=clusters, correction=correction),
        quality_ranking=_ranked(rows, ranked, _baseline_points if treatment_arm is None else _treatment_points),
        delta_ranking=_ranked(rows, ranked, _delta_points),
    )


def _row(side: _Side, delta: ArmDifference, arm: str | None, clusters: Sequence[str] | None, replicates: tuple[str, ...]) -> RunRow:
    identity, differences = side.run.identity, known(side.contender.deltas)
    (baseline, baseline_interval), (points, interval) = (_mean(column, clusters) for column in (side.baseline, side.contender.points))
    return RunRow(
        run=side.run.name,
        replicates=replicates,
        model=identity.model,
        provider=identity.provider,
        harness=identity.harness,
        plugin_set=identity.plugin_set,
        judge_model=identity.judge_model,
        judge_provider=identity.judge_provider,
        treatment_arm=arm if _arm(side.run, arm).points else None,
        questions=len(side.run.compared_questions),
        unscored=len(side.baseline) - len(differences),
        baseline_mean_points=baseline,
        treatment_mean_points=points,
        baseline_interval=baseline_interval,
        treatment_interval=interval,
        delta=delta,
        improved=len([difference for difference in differences if difference > 0]),
        degraded=len([difference for difference in differences if difference < 0]),
        baseline_cost=side.run.arms[identity.baseline_arm].cost,
        treatment_cost=_arm(side.run, arm).cost,
    )


def _mean(column: Column, clusters: Sequence[str] | None) -> tuple[float | None, MeanInterval | None]:
    """Return the mean of the points that are there, and its interval on its own, which takes two of them (or of their clusters)."""
    points = known(column)
    estimate = estimate_mean(points, clusters=known_labels(column, clusters))
    if estimate is None:
        return (plain_mean(points) if points else None), None
    return estimate.mean, MeanInterval(lo_points=estimate.ci_lo, hi_points=estimate.ci_hi)


def _origin(run: ComparedRun) -> RunOrigin:
    bare = run.identity.model_copy(update={"question_ids": (), "evaluation_ids": () if run.identity.is_judged else None})
    return RunOrigin(run=run.name, source=run.source, generated_at=run.generated_at, identity=bare)


def _arm(run: ComparedRun, arm: str | None) -> ComparedArm:
    return _NOT_IN_RUN if arm is None else run.arms.get(arm, _NOT_IN_RUN)


def _ranked(rows: Sequence[RunRow], ranked: Set[str], points_of: Callable[[RunRow], float | None]) -> tuple[RankedRun, ...]:
    placed = [(points, row.run) for row in rows if row.run in ranked and (points := points_of(row)) is not None]
    ranks = {run: 1 + sum(other > points for other, _ in placed) for points, run in placed}
    ordered = sorted(rows, key=lambda row: ranks.get(row.run, len(rows) + 1))  # stable: equal points stand in the order of the runs
    return tuple(RankedRun(rank=ranks.get(row.run), run=row.run, points=points_of(row)) for row in ordered)


def _baseline_points(row: RunRow) -> float | None:
    return row.baseline_mean_points


def _treatment_points(row: RunRow) -> float | None:
    return row.treatment_mean_points


def _delta_points(row: RunRow) -> float | None:
    return row.delta.delta_points
