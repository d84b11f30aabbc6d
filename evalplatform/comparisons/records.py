"""A judged score with its place in the experiment, and the summary of a cell under a judge. Nothing here is rounded."""

from typing import NamedTuple, Protocol

from pydantic import Field

from evalplatform.judging.records import Judgement
from evalplatform.kernel.values import Value
from evalplatform.retrieval.measures import RetrievalMeasures
from evalplatform.stats.paired import PairedEffect


class PlacedPoints(Protocol):
    """The points of one answer, or None with a reason, and which question, arm and draw they belong to: all that a mean needs."""

    @property
    def question_id(self) -> str:
        """The question."""
        ...

    @property
    def arm(self) -> str:
        """The arm."""
        ...

    @property
    def draw(self) -> int:
        """The index of the repeated sample."""
        ...

    @property
    def points(self) -> float | None:
        """0 to 100, or None."""
        ...

    @property
    def reason(self) -> str | None:
        """Why there are no points."""
        ...


class ScorePoints(NamedTuple):
    """The part of a judged score that is summed up. A million of them are read and summed in a tenth of the time of whole scores."""

    question_id: str
    arm: str
    draw: int
    points: float | None
    reason: str | None


class ScoreCost(NamedTuple):
    """How many calls a judged score took, and their known cost; None where none is known."""

    calls: int
    cost_usd: float | None


class ScoreProvenance(NamedTuple):
    """What a judged score was given beside the answer (`stored` material or a `snippet_fallback`), and how many calls it took."""

    question_id: str
    arm: str
    draw: int
    material_source: str
    calls: int


class JudgedScore(Value):
    """A judgement, and which question, arm and draw it belongs to."""

    question_id: str
    arm: str
    draw: int = 0
    judgement: Judgement

    @property
    def points(self) -> float | None:
        """The judgement's points."""
        return self.judgement.points

    @property
    def reason(self) -> str | None:
        """Why the judgement has no points."""
        return self.judgement.reason


class ArmScore(Value):
    """One arm's points over the questions it scored. A question's score is the mean over its scored draws.

    The interval is Student's, 95%, over question scores, or clustered where the suite names a cluster field; None below two scored
    questions.
    `unscored_reasons` counts every (question, draw) without points by its reason (the part before any colon and space); `not_judged` where
    there is no score at all.
    """

    arm: str
    questions: int
    scored: int
    unscored_reasons: dict[str, int] = Field(default_factory=dict)
    mean_points: float | None
    sd_points: float | None
    ci_lo_points: float | None
    ci_hi_points: float | None


class ArmDelta(Value):
    """Candidate minus baseline arm, over the questions that both scored.

    `effect` is None below two pairs (or two clusters). The adjusted p-value and both verdicts are None where there is no test (fewer than
    six pairs or clusters, or no spread). `correction` is `holm` or `bh`. The family is all deltas of the summary with an effect; the
    correction counts the `family_tested` of them that have a test.
    """

    arm: str
    baseline_arm: str
    pairs: int
    effect: PairedEffect | None
    significant: bool | None
    p_adjusted: float | None
    significant_adjusted: bool | None
    correction: str
    family_size: int
    family_tested: int
    question_deltas: dict[str, float] = Field(default_factory=dict)


class Interaction(Value):
    """Whether a combined arm does more, or less, than the sum of its parts: combined - a - b + baseline, per question.

    Positive is synergy, negative interference. `delta_a_points` and the like are means over the same questions.
    """

    arm_a: str
    arm_b: str
    combined_arm: str
    baseline_arm: str
    delta_a_points: float
    delta_b_points: float
    delta_combined_points: float
    effect: PairedEffect
    significant: bool | None
    p_adjusted: float | None
    significant_adjusted: bool | None
    correction: str
    family_size: int
    family_tested: int


class ArmCost(Value):
    """What one arm's answers cost; failed answers contribute nothing. Unknown is None, never 0."""

    arm: str
    answers: int
    total_cost_usd: float | None
    priced_answers: int
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    cache_read_tokens: int | None
    mean_latency_seconds: float | None
    mean_time_to_first_token_seconds: float | None


class ArmRetrieval(Value):
    """How much of what questions require one arm brought back.

    `questions` counts those that require documents; a question whose retrieval failed is among them and not in the measures. `retrieved`
    is measured over the first stage (`k` is the suite's top_k), `kept` over what passed the reranker and went to the model. Both are None
    where no retrieval came back at all.
    """

    arm: str
    questions: int
    retrieved: RetrievalMeasures | None
    kept: RetrievalMeasures | None


class ArmSummary(Value):
    """Everything a report says in numbers about one cell under one judge.

    `coverage_rate` is the least share of questions scored in both arms, over all arms but the baseline; None without a second arm, and
    where nothing was judged. `retrieval` has the arms that retrieve, where questions require documents.
    """

    baseline_arm: str
    arms: tuple[str, ...]
    questions: int
    draws: int
    scores: dict[str, ArmScore]
    deltas: dict[str, ArmDelta]
    interactions: tuple[Interaction, ...]
    costs: dict[str, ArmCost]
    retrieval: dict[str, ArmRetrieval] = Field(default_factory=dict)
    coverage_rate: float | None
    cluster_field: str | None = None
