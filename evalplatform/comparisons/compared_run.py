"""A run of one cell as a comparison across runs sees it: what identifies it, and its numbers by arm and question.

It is made from an arms.v1 file of any tool or from stored artifacts; nothing later knows which. A question's points are the mean over its
scored draws. Nothing is rounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from evalplatform.kernel.values import Value
from evalplatform.plugins.plugin_set import NO_PLUGINS_LABEL

PROVIDER_ADDRESS = "the provider's own address"
"""The base URL of a run that says it has none of its own: a known address, unlike None, which is not stated."""


class RunIdentity(Value):
    """What a run says of itself as a whole: the stamps that factors of the comparability key are made of, and what is only told of it.

    What the run does not say is None. What it says of single questions and arms (texts, references, materials) is in `ComparedRun`.

    Attributes:
        library_name: the product.
        base_url: the endpoint's address; `PROVIDER_ADDRESS` where the run says that it has none of its own.
        plugin_set: the label, such as `caveman:full+truncate:60`; `none` where there is no plugin.
        plugin_set_id: names the behaviour, however the set is spelt.
        arms: the arms in the run's order.
        arm_content_digests: by arm, one digest of all that it can inject (documents, skill, system prompt before plugins).
        question_ids: in the order of the run.
        question_texts_digest: one digest of the questions' texts in that order.
        evaluation_ids: the judged questions in the order of the run; None where nobody judged.
        run_config: sampling of the answers and limits of the tool loop, without the seed; what is not set is absent, 0 and 0.0 are one.
        answering_digest: one digest of all that decides an answer but the plugins and the seed: model, endpoint, harness, sampling.
        retrieval: first-stage size, rerank threshold and reranker.
        draws: how many draws each question's points are the mean of, at most.
        judge_digest: one digest of all that decides what points mean: judge kind, model, endpoint, sampling without the seed, prompt.
        judge_context: the stamp of what judges were shown beside the answer.
        cluster_field: the field of the questions that says which of them depend on each other.
    """

    library_name: str | None = None
    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    harness: str | None = None
    plugin_set: str = NO_PLUGINS_LABEL
    plugin_set_id: str | None = None
    arms: tuple[str, ...]
    baseline_arm: str
    arm_content_digests: dict[str, str] | None = None
    total_questions: int
    question_ids: tuple[str, ...]
    question_texts_digest: str | None = None
    question_set_digest: str | None = None
    evaluation_ids: tuple[str, ...] | None = None
    run_config: dict[str, JsonValue] | None = None
    seed: int | None = None
    answering_digest: str | None = None
    retrieval: dict[str, JsonValue] | None = None
    answer_prompt_digest: str | None = None
    draws: int = 1
    judge_model: str | None = None
    judge_provider: str | None = None
    judge_temperature: float | None = None
    judge_prompt_digest: str | None = None
    judge_digest: str | None = None
    judge_context: str | None = None
    grounded_from_topics: bool | None = None
    cluster_field: str | None = None

    @property
    def is_judged(self) -> bool:
        """Whether anybody judged."""
        return self.evaluation_ids is not None


@dataclass(frozen=True)
class CostFigures:
    """What an arm's finished answers cost, as the run states it; None is unknown. With fewer priced than finished answers it is partial."""

    answers: int | None = None
    priced_answers: int | None = None
    total_cost_usd: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    mean_latency_seconds: float | None = None
    mean_time_to_first_token_seconds: float | None = None

    @property
    def is_partial(self) -> bool:
        """Whether the cost leaves out answers without a price."""
        return self.total_cost_usd is not None and self.answers is not None and (self.priced_answers or 0) < self.answers


@dataclass(frozen=True)
class ComparedArm:
    """One arm of a run.

    Attributes:
        points: 0 to 100 by question; a question without points, or without an answer that did not fail, is absent.
        unscored_reasons: why questions are absent, counted.
        points_without_answer: questions that are absent although the run states points, since there is no answer that these are of.
        answers: questions that the arm has a row for; `failed` of them failed.
        with_system_prompt: answers that did not fail and were sent a system prompt.
        profile_prompts: the digests of the profiles that one answer carries, sorted; one tuple for each distinct set. More than one says
            that a profile was edited between answers. Answers without digests are left out.
        material_digests: by question, the digest of what a judge is shown beside the arm's answer.
        raw_answer_chars: by question, how long the model's answer was; `final_answer_chars` what the user would see.
        cost: as the run states it.
    """

    points: Mapping[str, float]
    unscored_reasons: Mapping[str, int] = field(default_factory=dict)
    points_without_answer: int = 0
    answers: int = 0
    failed: int = 0
    with_system_prompt: int = 0
    profile_prompts: frozenset[tuple[str, ...]] = frozenset()
    material_digests: Mapping[str, str] = field(default_factory=dict)
    raw_answer_chars: Mapping[str, float] = field(default_factory=dict)
    final_answer_chars: Mapping[str, float] = field(default_factory=dict)
    cost: CostFigures = CostFigures()

    @property
    def profile_prompt_digests(self) -> frozenset[str]:
        """The digests of the profiles that its answers carry, those inside combined arms too."""
        return frozenset(digest for prompts in self.profile_prompts for digest in prompts)


@dataclass(frozen=True)
class ComparedRun:
    """A run.

    Attributes:
        name: what a report calls it.
        source: where it was read.
        generated_at: when its file says that it was made.
        difficulty: of the questions that state one.
        question_texts: the text of each question, by id.
        references: what a judge grades against, of the questions that have it.
        clusters: which questions depend on each other: the label of each; None where the run says nothing of it.
    """

    name: str
    source: str
    identity: RunIdentity
    arms: Mapping[str, ComparedArm]
    difficulty: Mapping[str, str | int | float] = field(default_factory=dict)
    question_texts: Mapping[str, str] = field(default_factory=dict)
    references: Mapping[str, str] = field(default_factory=dict)
    clusters: Mapping[str, str] | None = None
    generated_at: str | None = None
    has_judge_metrics: bool = False
    truncated_reason: str | None = None

    @property
    def treatment_arms(self) -> tuple[str, ...]:
        """The arms but the baseline, in order."""
        return tuple(arm for arm in self.identity.arms if arm != self.identity.baseline_arm)

    @property
    def compared_questions(self) -> tuple[str, ...]:
        """The questions that numbers can be of: the judged ones, or all where nobody judged."""
        return self.identity.question_ids if self.identity.evaluation_ids is None else self.identity.evaluation_ids

    @property
    def scored_treatment_arms(self) -> tuple[str, ...]:
        """The arms but the baseline with points for some question."""
        return tuple(arm for arm in self.treatment_arms if self.arms[arm].points)
