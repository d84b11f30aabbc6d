"""The comparability key: which factors must be equal for which comparison. Every comparison across runs asks here, and nowhere else.

A comparison declares the factors that its runs may differ in. All others must be equal, so a factor that is added here is required equal by
every comparison until one declares it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evalplatform.comparisons import factor_differences as differences
from evalplatform.comparisons.compared_run import ComparedRun, RunIdentity
from evalplatform.comparisons.factor_differences import Difference, Named
from evalplatform.comparisons.refusals import FactorRefusal, JudgeNotStamped, MixedMaterial, Refusal

ComparisonKind = Literal["plugin_delta", "model_comparison", "pooled_replicates", "batch_pool", "cross_judge"]
WhereUnknown = Literal["differs", "passes"]

MIXED_MATERIAL = "treatment_material.v1+snippet_fallback"
"""The stamp of a run whose scores did not all see the stored material (treatment-arms spec, section 7)."""


@dataclass(frozen=True)
class Factor:
    """One factor of a run.

    Attributes:
        name: its stable name; a field of `RunIdentity`, or a word for several.
        words: how a sentence names it.
        fields: the fields of `RunIdentity` that it is made of.
        value: what a run says of it; None where it does not say.
        where_unknown: what a run that does not say counts as beside one that does: another value, or one that is left alone (files from
            before the factor was stamped).
        of_scores: whether it is about scores; a run that nobody judged does not have it.
        has_default: whether runs that all say nothing share a default, such as the address of their provider; nothing is unknown then.
        only_if_equal: a factor that must be equal before this one can be looked at: texts in order say nothing of other questions.
        difference: how runs are compared in it, and what the refusal says.
    """

    name: str
    words: str
    fields: tuple[str, ...]
    value: Callable[[RunIdentity], object]
    where_unknown: WhereUnknown = "differs"
    of_scores: bool = False
    has_default: bool = False
    only_if_equal: str | None = None
    difference: Difference = differences.value_difference

    def sides(self, runs: Sequence[ComparedRun]) -> list[tuple[str, object]]:
        """Return what each run that has this factor says of it, by the run's name."""
        return [(run.name, self.value(run.identity)) for run in runs if run.identity.is_judged or not self.of_scores]

    def refusal(self, runs: Sequence[ComparedRun]) -> FactorRefusal | None:
        """Return how the runs differ in this factor, or None."""
        return self.difference(Named(self.name, self.words, unknown_passes=self.where_unknown == "passes"), self.sides(runs))

    def unstated_by(self, runs: Sequence[ComparedRun]) -> tuple[str, ...]:
        """Return the runs that have this factor and say nothing of it, where that leaves something unknown."""
        sides = self.sides(runs)
        unstated = tuple(run for run, value in sides if value is None)
        return () if self.has_default and len(unstated) == len(sides) else unstated


FACTORS: tuple[Factor, ...] = (
    Factor("library_name", "library", ("library_name",), lambda run: run.library_name),
    Factor("model", "model", ("model",), lambda run: run.model),
    Factor("provider", "provider", ("provider",), lambda run: run.provider),
    Factor("base_url", "base URL of the endpoint", ("base_url",), lambda run: run.base_url, "passes", has_default=True),
    Factor("harness", "harness", ("harness",), lambda run: run.harness),
    Factor("plugin_set", "plugin set", ("plugin_set", "plugin_set_id"), lambda run: (run.plugin_set_id, run.plugin_set),
           difference=differences.plugin_set_difference),
    Factor("arms", "arms", ("arms",), lambda run: run.arms, difference=differences.arms_difference),
    Factor("baseline_arm", "baseline arm", ("baseline_arm",), lambda run: run.baseline_arm),
    Factor("arm_contents", "content of the arms", ("arm_content_digests",), lambda run: run.arm_content_digests, "passes",
           difference=differences.contents_difference),
    Factor("total_questions", "number of questions", ("total_questions",), lambda run: run.total_questions),
    Factor("question_ids", "questions or their order", ("question_ids",), lambda run: run.question_ids,
           difference=differences.order_difference),
    Factor("question_texts", "text of the questions", ("question_texts_digest",), lambda run: run.question_texts_digest, "passes",
           only_if_equal="question_ids"),
    Factor("run_config", "answer sampling (run_config)", ("run_config",), lambda run: run.run_config,
           difference=differences.settings_difference),
    Factor("retrieval", "retrieval settings", ("retrieval",), lambda run: run.retrieval, "passes",
           difference=differences.settings_difference),
    Factor("answer_prompt", "answer prompt", ("answer_prompt_digest",), lambda run: run.answer_prompt_digest, "passes"),
    Factor("draws", "number of draws", ("draws",), lambda run: run.draws),
    Factor("is_judged", "being judged", ("evaluation_ids",), lambda run: run.is_judged, difference=differences.judged_difference),
    Factor("evaluation_ids", "judged questions or their order", ("evaluation_ids",), lambda run: run.evaluation_ids, of_scores=True,
           difference=differences.order_difference),
    Factor("judge_model", "judge model", ("judge_model",), lambda run: run.judge_model, of_scores=True),
    Factor("judge_provider", "judge provider", ("judge_provider",), lambda run: run.judge_provider, of_scores=True),
    Factor("judge_temperature", "judge temperature", ("judge_temperature",), lambda run: run.judge_temperature, of_scores=True),
    Factor("judge_prompt", "judge prompt", ("judge_prompt_digest",), lambda run: run.judge_prompt_digest, "passes", of_scores=True),
    Factor("judge_context", "judge material (judge_context)", ("judge_context",), lambda run: run.judge_context, of_scores=True),
    Factor("grounded_from_topics", "grounding of the judge in expected topics", ("grounded_from_topics",),
           lambda run: run.grounded_from_topics, "passes", of_scores=True),
)  # fmt: skip

NOT_FACTORS: Mapping[str, str] = {
    "seed": "It asks for other samples of the same thing.",
    "question_set_digest": "It also covers what neither the model nor the judge reads; ids and texts are factors of their own.",
}
"""The fields of `RunIdentity` that no comparison requires equal, and why. A comparison may warn of them."""

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
"""The factors that a comparison's runs may differ in."""


def refusals_among(kind: ComparisonKind, runs: Sequence[ComparedRun]) -> list[Refusal]:
    """Return every reason why the runs cannot be compared: what each lacks by itself, then every undeclared factor they differ in.

    One run, or none, has nothing to differ in; what it lacks by itself is found all the same.
    """
    return [*(refusal for run in runs for refusal in run_refusals(run)), *differing_factors(kind, runs)]


def run_refusals(run: ComparedRun) -> list[Refusal]:
    """Return why the scores of this run can be compared with none: nobody is named as their judge, or they are not of one kind."""
    if not run.identity.is_judged:
        return []
    stamps = {"judge_model": run.identity.judge_model, "judge_provider": run.identity.judge_provider}
    missing = tuple(field for field, stamp in stamps.items() if not stamp)
    found: list[Refusal] = [JudgeNotStamped(run=run.name, missing=missing)] if missing else []
    if run.identity.judge_context == MIXED_MATERIAL:
        found.append(MixedMaterial(run=run.name, stamp=MIXED_MATERIAL))
    return found


def differing_factors(kind: ComparisonKind, runs: Sequence[ComparedRun]) -> list[FactorRefusal]:
    """Return a refusal for every factor that the runs differ in and the comparison does not declare, in the order of the factors."""
    return list(_differing(FACTORS, DECLARED[kind], runs))


def unstated_factors(kind: ComparisonKind, runs: Sequence[ComparedRun]) -> dict[str, tuple[str, ...]]:
    """Return the words for every factor that should be equal and could not be compared, with the runs that say nothing of it."""
    looked_at = (factor for factor in FACTORS if factor.name not in DECLARED[kind] and factor.where_unknown == "passes")
    return {factor.words: unstated for factor in looked_at if (unstated := factor.unstated_by(runs))}


def _differing(factors: Sequence[Factor], declared: frozenset[str], runs: Sequence[ComparedRun]) -> Iterator[FactorRefusal]:
    refused: set[str] = set()
    for factor in factors:
        if factor.name in declared or factor.only_if_equal in refused:
            continue
        refusal = factor.refusal(runs)
        if refusal is not None:
            refused.add(factor.name)
            yield refusal
