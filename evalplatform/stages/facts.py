"""What each stage says of its artifact without opening the files, as typed values: they are the manifest's `facts`."""

from pydantic import Field, JsonValue

from evalplatform.arms.treatment import Arm
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.counts import CallCounts
from evalplatform.comparisons.score_move_summary import Relation
from evalplatform.comparisons.verdicts import ArmVerdicts
from evalplatform.kernel.values import Value
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.reports.arms_view import InteractionRow, ResultRow
from evalplatform.reports.view import Table
from evalplatform.stages.checks.check import CheckResult


class RetrievalFacts(Value):
    """How documents were chosen: at most how many chunks, by which reranker, and the lowest score in [0, 1] that it kept."""

    top_k: int
    rerank_threshold: float
    reranker: str


class AnswerFacts(Value):
    """Of `arm_answers`: who answered which arms, how the rows ended, and what the calls cost.

    `failure_reasons` counts the rows that were asked and failed by the stable part of their reason, `first_failure` is a whole one (300
    characters at most). `complete` is false when a rerun would ask something again; `truncated_reason` and its sentence say why the run was
    stopped. `retrieval` is None for answers that were stored before it was kept.
    """

    arms: tuple[Arm, ...]
    cell: Cell
    retrieval: RetrievalFacts | None = None
    rows: int
    states: dict[str, int]
    calls: CallCounts
    price_table: str
    failure_reasons: dict[str, int] = Field(default_factory=dict)
    first_failure: str | None = None
    complete: bool
    truncated_reason: str | None = None
    truncated_message: str | None = None


class PanelFacts(Value):
    """Of `judged_scores` by a panel: how many scores hide a disagreement, and which votes have no points.

    `lost_votes` counts votes without points by role and reason. `failed_votes` counts those of scored answers whose call failed, by the
    stable part of the reason, and `first_failed_vote` is a whole one; a rerun asks for them again.
    """

    flagged: int = 0
    lost_votes: dict[str, int] = Field(default_factory=dict)
    failed_votes: dict[str, int] = Field(default_factory=dict)
    first_failed_vote: str | None = None


class ScoreFacts(Value):
    """Of `judged_scores`: who judged, what was scored and why not, what the calls cost.

    `answer_calls` counts the calls for an answer that this judging made, replayed ones too: a judge asks none. `failure_reasons` and
    `first_failure` are of judge calls that failed, as in `AnswerFacts`. `panel` is None for a judge of one voice.
    """

    judge: JudgeCell
    rows: int
    scored: int
    unscored_reasons: dict[str, int] = Field(default_factory=dict)
    redrawn: int = 0
    calls: CallCounts
    answer_calls: int = 0
    failure_reasons: dict[str, int] = Field(default_factory=dict)
    first_failure: str | None = None
    panel: PanelFacts | None = None
    complete: bool
    truncated_reason: str | None = None
    truncated_message: str | None = None


class VerdictFacts(Value):
    """Of `verdicts`: by which policy, how many rows and how many of them without a verdict, and each arm's pass rate.

    `calls` are none: verdicts are computed from stored points. `complete` is that of the scores.
    """

    policy_key: str
    policy_digest: str
    pass_points: float
    rows: int
    unscored: int
    verdicts: ArmVerdicts
    calls: CallCounts = CallCounts()
    complete: bool


class ScoreMoveFacts(Value):
    """Of `score_moves`: what the scores were compared with, how many scores there are to compare, and how many were moved by what.

    `before` is the judge key and data version of the scores before, None (like `relation`) for the first scores. `findings` says it in
    sentences. `complete` is that of the scores now.
    """

    relation: Relation | None
    before: str | None
    rows: int
    separable: int
    not_separable: int
    unscored: int
    judge_moved: int
    answers_moved: int
    findings: tuple[str, ...]
    complete: bool


class SummaryFacts(Value):
    """Of `arm_summary`: coverage and mean points by arm. `complete` is that of the answers and scores it was made from."""

    coverage_rate: float | None
    mean_points: dict[str, float | None]
    complete: bool


class ReportFacts(Value):
    """Of `arms_report`: the result table as shown, its sentences, those on retrieval, and the calls behind answers and scores.

    `interactions` is a row for each arm that combines two others. `answer_calls` counts the answers that were asked for while judging:
    0, or a bug; None where nobody judged. `checks` are what the suite's checks found of answers and scores.
    """

    coverage_rate: float | None
    complete: bool
    result: tuple[ResultRow, ...]
    findings: tuple[str, ...]
    interactions: tuple[InteractionRow, ...] = ()
    retrieval: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    answer_calls: int | None = None
    calls_of_answers: CallCounts
    calls_of_scores: CallCounts


class ComparisonFacts(Value):
    """Of a comparison of cells (`plugin_deltas`, `matrix_rollup`, `model_comparison`): what it compared, and what it refused to.

    `compared` and `missing` are cell ids; the missing ones have no scores under the judge. `refusals` are the sentences of what was not
    compared, `shortfalls` those of what was and is no answer, and `advice` says what to do about either where the stage knows. `findings`
    and `warnings` are those of its page, and `tables` its main ones, by title. `complete` is that of all it read.
    """

    compared: tuple[str, ...]
    missing: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    shortfalls: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tables: dict[str, Table] = Field(default_factory=dict)
    complete: bool

    @property
    def is_answer(self) -> bool:
        """Whether everything could be compared, and enough of it was scored."""
        return not self.refusals and not self.shortfalls


def as_facts(facts: Value) -> dict[str, JsonValue]:
    """Return typed facts as a manifest keeps them."""
    return facts.model_dump(mode="json")


def answer_facts(manifest: ArtifactManifest) -> AnswerFacts:
    """Return the facts of an `arm_answers` version."""
    return AnswerFacts.model_validate(manifest.facts)


def score_facts(manifest: ArtifactManifest) -> ScoreFacts:
    """Return the facts of a `judged_scores` version."""
    return ScoreFacts.model_validate(manifest.facts)


def score_move_facts(manifest: ArtifactManifest) -> ScoreMoveFacts:
    """Return the facts of a `score_moves` version."""
    return ScoreMoveFacts.model_validate(manifest.facts)


def verdict_facts(manifest: ArtifactManifest) -> VerdictFacts:
    """Return the facts of a `verdicts` version."""
    return VerdictFacts.model_validate(manifest.facts)


def summary_facts(manifest: ArtifactManifest) -> SummaryFacts:
    """Return the facts of an `arm_summary` version."""
    return SummaryFacts.model_validate(manifest.facts)


def comparison_facts_of(manifest: ArtifactManifest) -> ComparisonFacts:
    """Return the facts of a version of a comparison of cells."""
    return ComparisonFacts.model_validate(manifest.facts)


def report_facts(manifest: ArtifactManifest) -> ReportFacts:
    """Return the facts of an `arms_report` version."""
    return ReportFacts.model_validate(manifest.facts)
