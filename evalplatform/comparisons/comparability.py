"""The comparability key: which factors must be equal for which comparison. Every comparison across runs asks here, and nowhere else.

A comparison declares the factors that its runs may differ in. All others must be equal, so a factor that is added here is required equal by
every comparison until one declares it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from evalplatform.comparisons.compared_run import ComparedRun, RunIdentity
from evalplatform.comparisons.refusals import FactorDiffers, RunSays

ComparisonKind = Literal["plugin_delta", "model_comparison", "pooled_replicates", "batch_pool", "cross_judge"]
WhereUnknown = Literal["differs", "passes"]

MIXED_MATERIAL = "treatment_material.v1+snippet_fallback"
"""The stamp of a run whose scores did not all see the stored material (treatment-arms spec, section 7)."""


@dataclass(frozen=True)
class Factor:
    """One factor of a run.

    Attributes:
        name: its stable name.
        words: how a sentence names it.
        value: what a run says of it; None where it does not say.
        where_unknown: what a run that does not say counts as beside one that does: another value, or one that is left alone (files from
            before the factor was stamped).
    """

    name: str
    words: str
    value: Callable[[RunIdentity], object]
    where_unknown: WhereUnknown = "differs"


FACTORS: tuple[Factor, ...] = (
    Factor("library_name", "library", lambda run: run.library_name),
    Factor("model", "model", lambda run: run.model),
    Factor("provider", "provider", lambda run: run.provider),
    Factor("base_url", "endpoint's base URL", lambda run: run.base_url, "passes"),
    Factor("harness", "harness", lambda run: run.harness),
    Factor("plugin_set", "plugin set", lambda run: run.plugin_set_id or run.plugin_set),
    Factor("arms", "arms", lambda run: run.arms),
    Factor("baseline_arm", "baseline arm", lambda run: run.baseline_arm),
    Factor("arm_contents", "content of the arms", lambda run: run.arm_content_digests, "passes"),
    Factor("total_questions", "number of questions", lambda run: run.total_questions),
    Factor("question_ids", "questions or their order", lambda run: run.question_ids),
    Factor("question_texts", "text of the questions", lambda run: run.question_texts_digest, "passes"),
    Factor("run_config", "answer sampling (run_config)", lambda run: run.run_config),
    Factor("retrieval", "retrieval settings", lambda run: run.retrieval, "passes"),
    Factor("answer_prompt", "answer prompt", lambda run: run.answer_prompt_digest, "passes"),
    Factor("draws", "number of draws", lambda run: run.draws),
    Factor("is_judged", "being judged", lambda run: run.is_judged),
    Factor("evaluation_ids", "judged questions or their order", lambda run: run.evaluation_ids),
    Factor("judge_model", "judge model", lambda run: run.judge_model),
    Factor("judge_provider", "judge provider", lambda run: run.judge_provider),
    Factor("judge_temperature", "judge temperature", lambda run: run.judge_temperature),
    Factor("judge_prompt", "judge prompt", lambda run: run.judge_prompt_digest, "passes"),
    Factor("judge_context", "judge material (judge_context)", lambda run: run.judge_context),
    Factor("grounded_from_topics", "grounding of the judge", lambda run: run.grounded_from_topics, "passes"),
)

DECLARED: Mapping[ComparisonKind, frozenset[str]] = {
    "plugin_delta": frozenset({"plugin_set"}),
    # Cells beside each other: who answers, how it samples, and, with a warning, over which questions; numbers are of the common ones.
    "model_comparison": frozenset(
        {"model", "provider", "base_url", "run_config", "arms", "total_questions", "question_ids", "question_texts", "evaluation_ids"}
    ),
    "pooled_replicates": frozenset({"total_questions", "question_ids", "question_texts", "evaluation_ids"}),
    # One treatment over models, products and question sets. Arms that share a name must still share a content: `batch_pool` asks.
    "batch_pool": frozenset(
        {"library_name", "model", "provider", "base_url", "run_config", "arms", "arm_contents"}
        | {"total_questions", "question_ids", "question_texts", "evaluation_ids"}
    ),
    "cross_judge": frozenset({"judge_model", "judge_provider", "judge_temperature", "judge_prompt", "is_judged", "evaluation_ids"}),
}
"""The factors that a comparison's runs may differ in. The seed is no factor: it asks for other samples of the same thing."""


def differing_factors(kind: ComparisonKind, runs: Sequence[ComparedRun]) -> list[FactorDiffers]:
    """Return a refusal for every factor that the runs differ in and the comparison does not declare, in the order of the factors."""
    return [refusal for factor in FACTORS if factor.name not in DECLARED[kind] for refusal in _differs(factor, runs)]


def _differs(factor: Factor, runs: Sequence[ComparedRun]) -> Iterator[FactorDiffers]:
    values = [factor.value(run.identity) for run in runs]
    compared = [value for value in values if value is not None] if factor.where_unknown == "passes" else values
    if any(value != compared[0] for value in compared[1:]):
        sides = tuple(RunSays(run=run.name, says=_shown(value)) for run, value in zip(runs, values, strict=True))
        yield FactorDiffers(factor=factor.name, words=factor.words, sides=sides)


def _shown(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
