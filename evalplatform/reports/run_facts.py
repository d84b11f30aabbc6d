"""Everything a report says about a run besides its numbers: what was run, with what, and who judged."""

from datetime import datetime

from pydantic import Field

from evalplatform.calls.counts import CallCounts
from evalplatform.judging.judge import judge_model_stamp
from evalplatform.kernel.values import Value
from evalplatform.plugins.plugin import PluginStamp
from evalplatform.plugins.plugin_set import plugin_set_id, plugin_set_label
from evalplatform.ports.model_client import Sampling
from evalplatform.project.policy import LEAST_COVERAGE_RATE


class DocumentSourceFacts(Value):
    """A document source as it was opened: its name and the digest of what it served."""

    arm: str
    name: str
    digest: str


class JudgeFacts(Value):
    """The judge as it judged.

    `prompt_digest` is the digest of everything fixed that it was told, `behaviour_digest` that of all that decides what its points mean;
    `roles` vote, where there are any.
    """

    key: str
    kind: str
    provider: str
    model: str
    sampling: Sampling = Sampling()
    prompt_digest: str
    behaviour_digest: str | None = None
    metrics: tuple[str, ...] = ()
    grounded_from_topics: bool = False
    roles: tuple[str, ...] = ()

    @property
    def model_stamp(self) -> str:
        """How artifacts name the model that judged, a panel's roles included."""
        return judge_model_stamp(self.model, self.roles)


class RunFacts(Value):
    """One cell's run of a suite, for its reports.

    `library_name` is the product; `answering_digest` is that of the cell's behaviour without its plugins; `arm_specs` maps arm names to
    specs as written; `input_digests` are the named digests of all that decided the answers; `truncated_reason` says why not every
    question was asked (budget_exhausted, circuit_open, deferred), or None. `least_coverage_rate` is the suite's limit under which a
    comparison was not answered. `warnings` are sentences about the arms' files and what the suite's checks found; like the question
    set's own, they are shown at the top of every report.
    `answers_stored_at` is when the answers were stored, `judging_answer_calls` how many answers were asked for while judging (a judge asks
    for none); each is None where it is not known, as are `top_k`, `rerank_threshold` and `reranker`.
    """

    project: str
    suite: str
    library_name: str
    generated_at: datetime
    cell_key: str
    model: str
    provider: str
    base_url: str | None = None
    answering_digest: str | None = None
    harness: str = "arms-runner"
    plugins: tuple[PluginStamp, ...] = ()
    sampling: Sampling = Sampling()
    draws: int = 1
    arms: tuple[str, ...]
    arm_specs: dict[str, str]
    baseline_arm: str
    question_set_source: str
    question_set_digest: str
    top_k: int | None
    rerank_threshold: float | None
    reranker: str | None
    price_table: str | None
    document_sources: tuple[DocumentSourceFacts, ...] = ()
    input_digests: dict[str, str] = Field(default_factory=dict)
    judge: JudgeFacts | None = None
    answer_calls: CallCounts = CallCounts()
    judge_calls: CallCounts = CallCounts()
    answers_stored_at: datetime | None = None
    judging_answer_calls: int | None = None
    truncated_reason: str | None = None
    least_coverage_rate: float = LEAST_COVERAGE_RATE
    warnings: tuple[str, ...] = ()

    @property
    def plugin_set(self) -> str:
        """The label of the plugins that modified every arm, such as `caveman:full+truncate:60`; `none` where there were none."""
        return plugin_set_label(self.plugins)

    @property
    def plugin_set_id(self) -> str:
        """The id of what they did."""
        return plugin_set_id(self.plugins)
