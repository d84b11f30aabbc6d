"""What a plugin delta is made of, as frozen values. Nothing is rounded; unknown is None."""

from typing import Annotated, Literal

from pydantic import Field

from evalplatform.comparisons.compared_run import RunIdentity
from evalplatform.comparisons.refusals import RunSays
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.comparisons.significance import Verdict
from evalplatform.kernel.values import Value
from evalplatform.stats.multiplicity import Correction
from evalplatform.stats.paired import PairedEffect


class ScoreDelta(Value):
    """One arm's points with the plugin set minus those of the control, over the questions that it scored in both runs.

    All three means are over the same `pairs`, and None without any. `effect` is None below two pairs.
    """

    arm: str
    pairs: int
    control_mean_points: float | None
    plugin_mean_points: float | None
    delta_points: float | None
    effect: PairedEffect | None
    verdict: Verdict
    question_deltas: dict[str, float] = Field(default_factory=dict)


class FigureDelta(Value):
    """One figure of both runs, as they state it, and plugin minus control; None where a run does not state it."""

    control: int | float | None
    plugin: int | float | None

    @property
    def delta(self) -> float | None:
        """Plugin minus control."""
        return None if self.control is None or self.plugin is None else float(self.plugin - self.control)


class CostDelta(Value):
    """What one arm's finished answers cost in both runs, as the runs' own summaries state it."""

    arm: str
    total_cost_usd: FigureDelta
    prompt_tokens: FigureDelta
    completion_tokens: FigureDelta
    total_tokens: FigureDelta
    mean_latency_seconds: FigureDelta
    mean_time_to_first_token_seconds: FigureDelta


class LengthDelta(Value):
    """How long one arm's answers were, in characters.

    The two means are each over the answers of their own run, as the format has it. `paired_delta_chars` is over the `pairs` of questions
    that were answered in both runs, and so no other question moves it; None without any. Its 95% interval is None below two pairs.
    """

    control_answers: int
    plugin_answers: int
    control_mean_chars: float | None
    plugin_mean_chars: float | None
    pairs: int
    paired_delta_chars: float | None
    ci_lo_chars: float | None = None
    ci_hi_chars: float | None = None


class AnswerTextDelta(Value):
    """The lengths of one arm's answers: what the model wrote (`raw`), and what the user would see (`final`)."""

    arm: str
    raw: LengthDelta
    final: LengthDelta


class ControlHasPlugins(Value):
    """The control is not free of plugins: the delta is between two plugin sets."""

    warning: Literal["control_has_plugins"] = "control_has_plugins"
    run: str
    plugin_set: str


class WrongWayRound(Value):
    """The control has plugins and the run that should have them has none: every delta says what taking them away does."""

    warning: Literal["wrong_way_round"] = "wrong_way_round"
    control: str
    plugin_set: str
    plain: str


class OneHasJudgeMetrics(Value):
    """One run says what its judge calls cost and the other does not: its scores may have come about in another way."""

    warning: Literal["one_has_judge_metrics"] = "one_has_judge_metrics"
    having: str
    lacking: str


class FewPairs(Value):
    """Under the least coverage, arms were scored in both runs for too few questions. `worst_arm` has the fewest, `pairs`.

    `most_pairs` is how many the best of these arms has.
    """

    warning: Literal["few_pairs"] = "few_pairs"
    arms: tuple[str, ...]
    worst_arm: str
    pairs: int
    most_pairs: int
    questions: int


class QuestionSetsDiffer(Value):
    """Ids and texts of the questions are equal, and something else of the question sets is not, such as what the judge grades against."""

    warning: Literal["question_sets_differ"] = "question_sets_differ"
    sides: tuple[RunSays, RunSays]


class SeedsDiffer(Value):
    """The runs asked for other samples."""

    warning: Literal["seeds_differ"] = "seeds_differ"
    sides: tuple[RunSays, RunSays]


DeltaWarning = Annotated[
    ControlHasPlugins | WrongWayRound | OneHasJudgeMetrics | RunTruncated | FewPairs | QuestionSetsDiffer | SeedsDiffer,
    Field(discriminator="warning"),
]
"""Something to know before reading the numbers; they are computed all the same."""


class PartialCost(Value):
    """An arm's cost in one run leaves out answers without a known price, so that its delta is not of whole costs."""

    arm: str
    run: str
    priced_answers: int
    answers: int


class PluginDelta(Value):
    """What a plugin set does to every arm of a cell, measured against the same cell with another plugin set (most often none).

    Attributes:
        control: the run that deltas are taken from; its identity, since the two differ in nothing but the plugin set.
        control_name, plugin_name: what reports call the two runs.
        control_source, plugin_source: where they were read.
        plugin_set, plugin_set_id: those of the run with the plugins; the control's are in `control`.
        scores, costs, texts: one an arm, in the order of the runs.
        cluster_field: the field of the questions by which intervals and tests are clustered; None where questions are independent.
        correction: what the verdicts were corrected by; their family is the arms of this delta that have an effect.
        coverage_rate: the least share of questions that an arm scored in both runs; None where nobody judged.
        partial_costs: the costs that are not of all answers.
        not_compared: factors that should be equal, and the runs that say nothing of them.
    """

    control: RunIdentity
    control_name: str
    plugin_name: str
    control_source: str
    plugin_source: str
    plugin_set: str
    plugin_set_id: str | None
    scores: tuple[ScoreDelta, ...]
    costs: tuple[CostDelta, ...]
    texts: tuple[AnswerTextDelta, ...]
    cluster_field: str | None = None
    correction: Correction
    coverage_rate: float | None
    warnings: tuple[DeltaWarning, ...] = ()
    partial_costs: tuple[PartialCost, ...] = ()
    not_compared: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @property
    def is_judged(self) -> bool:
        """Whether there are scores to compare."""
        return self.control.is_judged
