"""The arms.v1 file as it stands on disk: what is required of each part, in this platform's files and in those of other tools.

The models name the keys that are read and let every other key pass, since the format is open. They hold JSON as it is written; what it
means is decided in `arms_v1_rows`.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StrictStr, ValidationError, model_validator

from evalplatform.kernel.digests import canonical_json
from evalplatform.kernel.errors import InputError
from evalplatform.plugins.plugin import REF_PREFIX, short_digest
from evalplatform.plugins.plugin_set import EMPTY_PLUGIN_SET_ID, NO_PLUGINS_LABEL
from evalplatform.reports.wire_rules import wire_rule

JsonObject = dict[str, JsonValue]
SCHEMA_VERSION = "arms.v1"

MOST_COUNTED, MOST_USD, MOST_SECONDS = 10**15, 10**9, 10**9
"""No run counts, costs or takes more; what says so was not measured, and would drown every number that it is compared with."""

M = TypeVar("M", bound=BaseModel)


def _as_text_id(value: object) -> object:
    """Ids are compared as text; 0 is a real id."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _refuse_bool(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError(f"must be a number, not {value!r}")
    return value


def _null_as_empty(value: object) -> object:
    return {} if value is None else value


def _null_as_no_items(value: object) -> object:
    return () if value is None else value


QuestionId = Annotated[str, BeforeValidator(_as_text_id), Field(min_length=1)]
Number = Annotated[float, BeforeValidator(_refuse_bool)]
Count = Annotated[int, BeforeValidator(_refuse_bool), Field(ge=0, le=MOST_COUNTED)]
Usd = Annotated[Number, Field(ge=0, le=MOST_USD)]
Seconds = Annotated[Number, Field(ge=0, le=MOST_SECONDS)]
Points = Annotated[Number, Field(ge=0, le=100)]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
PluginStamps = Annotated[tuple[dict[str, JsonValue], ...], BeforeValidator(_null_as_no_items)]
OpenObject = Annotated[dict[str, JsonValue], BeforeValidator(_null_as_empty)]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class WireChunk(_Wire):
    """A retrieved chunk, cut to its snippet."""

    source: str = "unknown"
    snippet: str = ""
    relevance_score: Number | None = None


class WireMetrics(_Wire):
    """What one answer used, and how long it is. Seconds, US dollars, tokens, characters."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cost_usd: Usd | None = None
    latency_sec: Seconds | None = None
    ttft_sec: Seconds | None = None
    n_calls: Count = 1
    raw_answer_chars: Count | None = None
    final_answer_chars: Count | None = None


class WireArm(_Wire):
    """One arm's answer: with `error` where it failed, with `reason` where the model was paid and said nothing."""

    answer: str | None
    raw_answer: str | None = None
    error: str | None = None
    reason: str | None = None
    used_system_prompt: bool = False
    same_call: bool = False
    context_chunks: tuple[WireChunk, ...] = ()
    metrics: WireMetrics | None = None
    metadata: OpenObject = Field(default_factory=dict)
    judge_context_sha256: Digest | None = None
    request_digest: str | None = None
    context_digest: str | None = None
    system_prompt_digest: str | None = None


class WireAnswer(_Wire):
    """One question and its answers by arm."""

    question_id: QuestionId
    question_text: str
    category: str | None = None
    difficulty: str | int | float | None = None
    required_documents: tuple[str, ...] = ()
    cluster: str | None = None
    ground_truth_chunk: str | None = None
    arms: dict[str, WireArm]


class WireVote(_Wire):
    """One role's vote of a panel; without `aggregate` it gave no points, and `error` says why."""

    role: str
    aggregate: Points | None = None
    error: str | None = None
    dimensions: dict[str, Number] = Field(default_factory=dict)
    caps: OpenObject = Field(default_factory=dict)
    unread_claims: tuple[Count, ...] = ()
    redraws: Count = 0
    notes: OpenObject = Field(default_factory=dict)


class WirePanel(_Wire):
    """How a panel voted, and how far apart: sample standard deviation, agreement from 0 to 1."""

    std_aggregate: Annotated[Number, Field(ge=0)] | None = None
    agreement_score: Annotated[Number, Field(ge=0, le=1)] | None = None
    disagreement_flag: bool = False
    votes: tuple[WireVote, ...] = ()


class WireScore(BaseModel):
    """One score; the keys not named here are a judge's dimensions and notes."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, JsonValue]

    aggregate: Points | None = None
    error: str | None = None
    caps: OpenObject = Field(default_factory=dict)
    unread_claims: tuple[Count, ...] = ()
    grounded: bool = False
    redraws: Count = 0
    notes: OpenObject = Field(default_factory=dict)
    panel: WirePanel | None = None
    judge_context_source: Literal["stored", "snippet_fallback"] | None = None
    judge_context_sha256: Digest | None = None


class WireEvaluation(_Wire):
    """One question's scores by arm; null where there was nothing to judge."""

    question_id: QuestionId
    question_text: str | None = None
    scores: dict[str, WireScore | None]


class WireFile(_Wire):
    """The file's top level. Items of `answers` and `evaluations` are checked one at a time, so that a large file is never held twice."""

    schema_version: Literal["arms.v1"] = "arms.v1"
    generated_at: str | None = None
    library_name: str | None = None
    model: str | None = None
    provider: str | None = None
    harness: str | None = None
    plugin_set: str = NO_PLUGINS_LABEL
    plugin_set_id: str = EMPTY_PLUGIN_SET_ID
    plugins: PluginStamps = ()
    arms: Annotated[tuple[StrictStr, ...], Field(min_length=1)]
    baseline_arm: str = "baseline"
    total_questions: Count | None = None
    run_config: OpenObject = Field(default_factory=dict)
    answers: list[Any]
    evaluations: list[Any] | None = None
    summary: OpenObject = Field(default_factory=dict)
    cost_summary: OpenObject = Field(default_factory=dict)
    retrieval_summary: OpenObject = Field(default_factory=dict)
    judge_materials: dict[Digest, str] = Field(default_factory=dict)
    judge_context: str | None = None
    judge_model: str | None = None
    judge_provider: str | None = None
    judge_temperature: Number | None = None
    judge_prompt_sha256: str | None = None
    question_set_hash: str | None = None
    cluster_field: str | None = None
    arm_specs: dict[str, str] = Field(default_factory=dict)
    cell_key: str | None = None
    draw: Count = 0

    @model_validator(mode="after")
    def _is_consistent(self) -> "WireFile":
        if len(set(self.arms)) != len(self.arms):
            raise ValueError("two arms have one name")
        if self.evaluations is not None and not (self.judge_model and self.judge_provider):
            raise ValueError("a judged file names its judge: judge_model and judge_provider must not be empty")
        _refuse_other_plugins(self)
        return self


class WireHead(_Wire):
    """The top level of a file as a comparison reads it: the stamps, and the two long lists as they are, unchecked."""

    schema_version: Literal["arms.v1"] = "arms.v1"
    generated_at: str | None = None
    library_name: str | None = None
    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    answering_digest: str | None = None
    harness: str | None = None
    plugin_set: str = NO_PLUGINS_LABEL
    plugin_set_id: str | None = None
    plugins: PluginStamps = ()
    arms: Annotated[tuple[StrictStr, ...], Field(min_length=1)]
    baseline_arm: str = "baseline"
    total_questions: Count | None = None
    run_config: OpenObject = Field(default_factory=dict)
    grounded_from_topics: bool | None = None
    answers: list[Any]
    evaluations: list[Any] | None = None
    cost_summary: OpenObject = Field(default_factory=dict)
    judge_context: str | None = None
    judge_model: str | None = None
    judge_provider: str | None = None
    judge_temperature: Number | None = None
    judge_prompt_sha256: str | None = None
    judge_digest: str | None = None
    judge_metrics: OpenObject = Field(default_factory=dict)
    question_set_hash: str | None = None
    cluster_field: str | None = None
    input_digests: dict[str, str] = Field(default_factory=dict)
    top_k: Count | None = None
    rerank_threshold: Number | None = None
    reranker: str | None = None
    truncated: str | None = None
    cell_key: str | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> "WireHead":
        _refuse_other_plugins(self)
        return self


def _refuse_other_plugins(head: WireFile | WireHead) -> None:
    """Raise ValueError where a file of this platform, which alone states its cell's key, has another set than its plugins make."""
    if head.cell_key is None:
        return
    label = "+".join(str(stamp.get("ref", "")).removeprefix(REF_PREFIX) for stamp in head.plugins) or NO_PLUGINS_LABEL
    if head.plugin_set != label:
        raise ValueError(f"plugin_set is {head.plugin_set!r}, and plugins are {label!r}")
    set_id = short_digest(canonical_json(list(head.plugins)).decode()) if head.plugins else EMPTY_PLUGIN_SET_ID
    if head.plugin_set_id != set_id:
        raise ValueError(f"plugin_set_id is {head.plugin_set_id!r}, and that of the plugins is {set_id!r}")


def checked(model: type[M], value: object, *, file: object, where: str = "") -> M:
    """Return the value as `model`.

    Raises:
        InputError: naming the file, the dotted field (below `where`) and the rule, for the first thing that is wrong.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join([where, *map(str, first["loc"])]).strip(".")
        raise InputError(wire_rule(first), file=file, field=field or None) from error
