"""One run's answers under several judges: what goes into the comparison and what comes out. Nothing is rounded."""

from collections import Counter
from typing import Literal

from pydantic import Field

from evalplatform.comparisons.arm_summary import QuestionClusters
from evalplatform.comparisons.refusals import Refusal
from evalplatform.kernel.values import Value
from evalplatform.stats.agreement import Kappa, RankCorrelation
from evalplatform.stats.krippendorff import Alpha
from evalplatform.stats.mean import MeanEstimate
from evalplatform.stats.sign_test import SignTest
from evalplatform.stats.wilson import RateInterval

LabelKind = Literal["consistent", "leaning", "judge_dependent", "no_detectable_effect", "not_tested"]
Direction = Literal["+", "-"]


class Measure(Value):
    """One judge's points for a run's answers.

    Attributes:
        name: unique in the run: the judge's id, or `<model> (stored)` for scores that a file holds.
        judge: the model that the points rest on, whatever prompt it was given; measures of one judge are no second opinion.
        is_stored: whether the points were read from a file, and not given for this comparison.
        judge_key: the judge's partition key; None for stored points.
        judge_context: the stamp of what the judge was shown beside the answers; None for one from before there was a stamp.
        points: by arm and question, 0 to 100; a question without points is absent.
        unscored_reasons: by arm, why questions are absent, counted.
        left_out: why the measure is shown and counts for nothing; empty for one that counts.
    """

    name: str
    judge: str
    is_stored: bool = False
    judge_key: str | None = None
    judge_model: str
    judge_provider: str
    judge_temperature: float | None = None
    judge_prompt_digest: str | None = None
    judge_context: str | None = None
    points: dict[str, dict[str, float]]
    unscored_reasons: dict[str, dict[str, int]] = Field(default_factory=dict)
    left_out: tuple[Refusal, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the measure has a say in labels and agreement."""
        return not self.left_out

    @property
    def constant_points(self) -> float | None:
        """The points that every answer was given, where there are at least two and all have the same; None where they differ."""
        given = [points for of_arm in self.points.values() for points in of_arm.values()]
        return given[0] if len(given) > 1 and min(given) == max(given) else None

    @property
    def all_unscored_reasons(self) -> dict[str, int]:
        """Why answers of any arm have no points, counted."""
        counts: Counter[str] = Counter()
        for reasons in self.unscored_reasons.values():
            counts.update(reasons)
        return dict(counts)


class RunUnderJudges(Value):
    """A run's answers with every judge's points.

    `name` is what a report calls it, `source` where it was read. `question_texts` are by id, in the run's order. `clusters` names the
    questions that depend on each other; `pass_points` is the pass mark, where there is one.
    """

    name: str
    source: str
    library_name: str | None
    model: str | None
    provider: str | None
    harness: str | None
    plugin_set: str
    arms: tuple[str, ...]
    baseline_arm: str
    question_texts: dict[str, str]
    measures: tuple[Measure, ...] = Field(min_length=1)
    pass_points: float | None = None
    clusters: QuestionClusters | None = None

    @property
    def treatment_arms(self) -> tuple[str, ...]:
        """The arms but the baseline, in order."""
        return tuple(arm for arm in self.arms if arm != self.baseline_arm)

    @property
    def counted(self) -> tuple[Measure, ...]:
        """The measures that have a say."""
        return tuple(measure for measure in self.measures if measure.counts)


class MeasureDelta(Value):
    """What one measure says of one arm: candidate minus baseline, over the questions that it scored in both.

    `estimate` is the mean delta with its interval, None below two pairs (or clusters). `sign` counts the questions (with clusters, the
    clusters by the sum of their deltas) that the arm won and lost; None below six, where no outcome could be significant. `p_holm` is
    corrected over the measures that count. `significant` and `direction` are None where nothing was tested, or the measure does not count.
    """

    measure: str
    judge: str
    counts: bool
    pairs: int
    estimate: MeanEstimate | None
    sign: SignTest | None
    p_holm: float | None = None
    significant: bool | None = None
    direction: Direction | None = None


class ArmLabel(Value):
    """Whether what is said of an arm is a property of the arm or of who judges.

    `consistent`: some measure is significant, none the other way, and every mean delta lies on that side. `leaning`: the same, but some
    mean delta does not. `judge_dependent`: significant both ways. `no_detectable_effect`: none is significant. `not_tested`: no measure has
    enough pairs. `one_judge` says that all significant measures rest on one judge; where none is, that all measures with a say do.
    """

    kind: LabelKind
    direction: Direction | None = None
    one_judge: bool = False


class CategoryAgreement(Value):
    """How often two judges put the same thing into one category.

    `rate` has Wilson's interval; it is None without a pair, and where questions are clustered. `kappa` is None where it is not defined;
    `kappa_reason` says why.
    """

    pairs: int
    agreeing: int
    rate: RateInterval | None
    kappa: Kappa | None
    kappa_reason: str | None = None


class JudgePair(Value):
    """How far two judges agree about one arm.

    `directions` compares, question by question, on which side of the baseline the arm lies (higher, same, lower). `rank_correlation` and
    `verdicts` (at the pass mark; None without one) compare the arm's own answers.
    """

    measures: tuple[str, str]
    directions: CategoryAgreement
    rank_correlation: RankCorrelation | None
    rank_correlation_reason: str | None = None
    verdicts: CategoryAgreement | None = None


class AlphaOrReason(Value):
    """Krippendorff's alpha over all judges that count, or why there is none."""

    alpha: Alpha | None
    reason: str | None = None


class ArmUnderJudges(Value):
    """One arm: its label, what each measure says, and how far the judges agree about it.

    `direction_alpha` is over the directions of each question's delta, as categories.
    """

    arm: str
    label: ArmLabel
    deltas: tuple[MeasureDelta, ...]
    pairs: tuple[JudgePair, ...]
    direction_alpha: AlphaOrReason


class CrossJudgedRun(Value):
    """A run, each of its arms under every judge, and how far the judges agree on the points of all answers.

    `coverage_rates` holds, by measure, the least share of questions scored in both arms; None without a second arm.
    """

    run: RunUnderJudges
    arms: tuple[ArmUnderJudges, ...]
    points_alpha: AlphaOrReason
    coverage_rates: dict[str, float | None]

    @property
    def dependence_is_known(self) -> bool:
        """Whether it could be found out if a verdict depends on the judge: one measure alone contradicts nobody."""
        return len(self.run.counted) > 1

    @property
    def least_coverage_rate(self) -> float | None:
        """The least coverage of the measures that count."""
        known = [rate for measure in self.run.counted if (rate := self.coverage_rates[measure.name]) is not None]
        return min(known) if known else None


class CrossJudgement(Value):
    """Several runs under the same judges; each run is compared by itself."""

    schema_version: Literal["cross_judge.v1"] = "cross_judge.v1"
    judges: tuple[str, ...]
    runs: tuple[CrossJudgedRun, ...]

    @property
    def judge_dependent(self) -> tuple[tuple[str, str], ...]:
        """The run and arm of every verdict that depends on the judge."""
        return tuple((one.run.name, arm.arm) for one in self.runs for arm in one.arms if arm.label.kind == "judge_dependent")
