"""Runs beside each other, as values: what each scored and gained, how they compare, and in what order. Points are 0 to 100, unrounded."""

from typing import Annotated, Literal

from pydantic import Field

from evalplatform.comparisons.compared_run import CostFigures, RunIdentity
from evalplatform.comparisons.refusals import FactorDiffers, RunSays
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.comparisons.significance import Verdict
from evalplatform.kernel.values import Value
from evalplatform.stats.multiplicity import Correction
from evalplatform.stats.paired import PairedEffect


class RunsDiffer(Value):
    """Warning: the runs differ in something that the comparison allows and a reader has to know."""

    warning: Literal["runs_differ"] = "runs_differ"
    difference: FactorDiffers


class NoScoredArm(Value):
    """Warning: a run has no points for any arm but the baseline, so it has no delta."""

    warning: Literal["no_scored_arm"] = "no_scored_arm"
    run: str


class FactorUnstated(Value):
    """Warning: factors that should be equal could not be compared, since these runs do not say them. `factors` are in words."""

    warning: Literal["factor_unstated"] = "factor_unstated"
    factors: tuple[str, ...]
    runs: tuple[str, ...]


ComparisonWarning = Annotated[RunsDiffer | NoScoredArm | RunTruncated | FactorUnstated, Field(discriminator="warning")]


class OneNameForOthers(Value):
    """Warning: one run id stands for other models, harnesses or plugin sets in one section of a report than in another."""

    warning: Literal["one_name_for_others"] = "one_name_for_others"
    run: str
    sections: tuple[RunSays, ...]


class Uncovered(Value):
    """A run with too little to be ranked by: points in all of `arms` for `pairs` of the `questions` that every run was asked."""

    run: str
    arms: tuple[str, ...]
    pairs: int
    questions: int


class PooledReplicates(Value):
    """Runs of one configuration that became one row. `dropped_questions` were not scored by every one of them in both arms."""

    label: str
    runs: tuple[str, ...]
    kept_questions: int
    dropped_questions: int


class RunOrigin(Value):
    """Where a run was read, and all that it says of itself as a whole. The ids of its questions are left out."""

    run: str
    source: str
    generated_at: str | None = None
    identity: RunIdentity


class MeanInterval(Value):
    """The 95% interval of a mean of points (Student's t)."""

    lo_points: float
    hi_points: float


class ArmDifference(Value):
    """A mean of paired differences with its uncertainty.

    Attributes:
        pairs: questions that both sides scored.
        delta_points: their mean difference; None without a pair.
        effect: interval, size and tests; None below two pairs, which say nothing about spread.
        verdict: within the family of all such differences of the comparison.
    """

    pairs: int
    delta_points: float | None
    effect: PairedEffect | None
    verdict: Verdict


class RunRow(Value):
    """One run, or pooled replicates, over the common questions.

    Attributes:
        run: its label.
        replicates: the runs that are pooled in it; empty for a run that stands for itself.
        treatment_arm: the scored arm; None where this run has no points for it.
        questions: how many the run has; its numbers are of the common ones.
        unscored: common questions without points in one of the two arms.
        baseline_mean_points: over the questions that the baseline arm scored; `treatment_mean_points` over those of the scored arm. The
            delta is not their difference where some are unscored.
        baseline_interval: of the mean, on its own; None below two questions. `treatment_interval` likewise.
        delta: scored arm minus baseline arm.
        improved: questions whose delta is above 0; `degraded` those below.
        baseline_cost: over all of the run's questions, as the run states it.
    """

    run: str
    replicates: tuple[str, ...] = ()
    model: str | None
    provider: str | None
    harness: str | None
    plugin_set: str
    judge_model: str | None
    judge_provider: str | None
    treatment_arm: str | None
    questions: int
    unscored: int
    baseline_mean_points: float | None
    treatment_mean_points: float | None
    baseline_interval: MeanInterval | None = None
    treatment_interval: MeanInterval | None = None
    delta: ArmDifference
    improved: int
    degraded: int
    baseline_cost: CostFigures
    treatment_cost: CostFigures


class DifficultySide(Value):
    """One run at one difficulty. The interval is 95%, None below two pairs."""

    run: str
    treatment_mean_points: float | None
    pairs: int
    delta_points: float | None
    ci_lo_points: float | None
    ci_hi_points: float | None


class DifficultyRow(Value):
    """The common questions of one difficulty."""

    difficulty: str
    questions: int
    sides: tuple[DifficultySide, ...]


class RunWins(Value):
    """On how many questions a run alone has the most points; on `uncontested` of them some other run has none at all."""

    run: str
    wins: int
    uncontested: int


class HeadToHead(Value):
    """Who has the most points in the scored arm, question by question: `questions` = all wins + `ties` + `unscored` (nobody has points)."""

    questions: int
    runs: tuple[RunWins, ...]
    ties: int
    unscored: int


class RunPair(Value):
    """Two runs, over the questions that both scored: `first` minus `second`.

    `quality` is the difference of the scored arm's points, `benefit` that of the deltas.
    """

    first: str
    second: str
    quality: ArmDifference
    benefit: ArmDifference


class RankedRun(Value):
    """A place in a ranking, highest points first. Equal points share a rank; without points, or with too few, there is none."""

    rank: int | None
    run: str
    points: float | None


class ModelComparison(Value):
    """Runs over the questions that all of them have.

    Attributes:
        baseline_arm: the arm that deltas are taken from.
        treatment_arm: the arm that all are scored on; None where no run has points for any arm but the baseline.
        common_questions: how many questions all runs have.
        is_judged: whether somebody judged; if not, there are costs to see and nothing is compared.
        uncovered: the runs with points for under 95% of the questions that all were asked. They are in no ranking, and while there is one
            the comparison is not an answer.
        runs: a row each, in the order given.
        origins: every run that was given, those that are pooled too.
        correction: of the p-values in a family: all deltas, all pairs' quality, all pairs' benefit.
        quality_ranking: by mean points of the scored arm, of the baseline arm where there is no other.
        delta_ranking: by delta.
    """

    baseline_arm: str
    treatment_arm: str | None
    library_name: str | None
    common_questions: int
    is_judged: bool
    uncovered: tuple[Uncovered, ...] = ()
    correction: Correction
    runs: tuple[RunRow, ...]
    origins: tuple[RunOrigin, ...] = ()
    pooled: tuple[PooledReplicates, ...] = ()
    warnings: tuple[ComparisonWarning, ...] = ()
    difficulty: tuple[DifficultyRow, ...] = ()
    head_to_head: HeadToHead
    pairs: tuple[RunPair, ...] = ()
    quality_ranking: tuple[RankedRun, ...]
    delta_ranking: tuple[RankedRun, ...]

    @property
    def ranked_arm(self) -> str:
        """The arm whose points the quality ranking is of."""
        return self.baseline_arm if self.treatment_arm is None else self.treatment_arm
