"""The comparability key: which factors must be equal for which comparison.

A comparison declares the factors that its runs may differ in. All others must be equal, so a factor that is added here is required equal by
every comparison until one declares it. What only one kind of comparison asks of its runs, such as another plugin set or the arm that all
are scored on, stands with that comparison.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evalplatform.comparisons import factor_differences as differences
from evalplatform.comparisons.arm_contents import arm_content_refusals
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.factor_differences import Difference, Named
from evalplatform.comparisons.question_differences import QuestionKey, question_key
from evalplatform.comparisons.refusals import ComparisonKind, FactorRefusal, JudgeNotStamped, MixedMaterial, Refusal

WhereUnknown = Literal["differs", "passes"]

MIXED_MATERIAL = "treatment_material.v1+snippet_fallback"
"""The stamp of a run whose scores did not all see the stored material (treatment-arms spec, section 7)."""
ARM_CONTENTS = "arm_contents"


@dataclass(frozen=True)
class Factor:
    """One factor of a run.

    Attributes:
        name: its stable name; a field of `RunIdentity`, or a word for several.
        words: how a sentence names it.
        fields: the fields of `RunIdentity`, `ComparedRun` and `ComparedArm` that it is made of.
        value: what a run says of it; None where it does not say.
        where_unknown: what a run that does not say counts as beside one that does: another value, or one that is left alone (files from
            before the factor was stamped).
        of_scores: whether it is about scores; a run that nobody judged does not have it.
        is_told: whether a reader is told of the runs that say nothing of it, where it should be equal.
        only_if_equal: factors that must be equal before this one is looked at: it says nothing that they do not say better.
        difference: how runs are compared in it, and what the refusal says.
    """

    name: str
    words: str
    fields: tuple[str, ...]
    value: Callable[[ComparedRun], object]
    where_unknown: WhereUnknown = "differs"
    of_scores: bool = False
    is_told: bool = True
    only_if_equal: tuple[str, ...] = ()
    difference: Difference = differences.value_difference

    def sides(self, runs: Sequence[ComparedRun]) -> list[tuple[str, object]]:
        """Return what each run that has this factor says of it, by the run's name."""
        return [(run.name, self.value(run)) for run in runs if run.identity.is_judged or not self.of_scores]

    def refusals(self, runs: Sequence[ComparedRun], arms: Collection[str] | None = None) -> Sequence[FactorRefusal]:
        """Return how the runs differ in this factor; `arms` are those that numbers are of, None for all."""
        if self.name == ARM_CONTENTS:
            return arm_content_refusals(runs, arms)
        found = self.difference(Named(self.name, self.words, unknown_passes=self.where_unknown == "passes"), self.sides(runs))
        return () if found is None else (found,)

    def unstated_by(self, runs: Sequence[ComparedRun]) -> tuple[str, ...]:
        """Return the runs that have this factor and say nothing of it."""
        return tuple(run for run, value in self.sides(runs) if value is None) if self.is_told else ()


def _texts(run: ComparedRun) -> Mapping[str, str] | None:
    return run.question_texts or None


def _references(run: ComparedRun) -> dict[QuestionKey, str] | None:
    return {question_key(run, question): reference for question, reference in run.references.items()} or None


FACTORS: tuple[Factor, ...] = (
    Factor("library_name", "library", ("library_name",), lambda run: run.identity.library_name),
    Factor("model", "model", ("model",), lambda run: run.identity.model),
    Factor("provider", "provider", ("provider",), lambda run: run.identity.provider),
    Factor("base_url", "base URL of the endpoint", ("base_url",), lambda run: run.identity.base_url, "passes"),
    Factor("harness", "harness", ("harness",), lambda run: run.identity.harness),
    Factor("plugin_set", "plugin set", ("plugin_set", "plugin_set_id"),
           lambda run: (run.identity.plugin_set_id, run.identity.plugin_set), difference=differences.plugin_set_difference),
    Factor("arms", "arms", ("arms",), lambda run: run.identity.arms, difference=differences.arms_difference),
    Factor("baseline_arm", "baseline arm", ("baseline_arm",), lambda run: run.identity.baseline_arm),
    Factor(ARM_CONTENTS, "content of the arms", ("arm_content_digests", "profile_prompts", "material_digests"),
           lambda run: run.identity.arm_content_digests, "passes"),
    Factor("total_questions", "number of questions", ("total_questions",), lambda run: run.identity.total_questions),
    Factor("question_ids", "questions or their order", ("question_ids",), lambda run: run.identity.question_ids,
           difference=differences.order_difference),
    Factor("question_texts", "text of the questions", ("question_texts",), _texts, "passes", difference=differences.texts_difference),
    Factor("run_config", "answer sampling (run_config)", ("run_config",), lambda run: run.identity.run_config,
           difference=differences.settings_difference),
    Factor("answering", "settings of the answers besides plugins (answering_digest)", ("answering_digest",),
           lambda run: run.identity.answering_digest, "passes",
           only_if_equal=("model", "provider", "base_url", "harness", "run_config")),
    Factor("retrieval", "retrieval settings", ("retrieval",), lambda run: run.identity.retrieval, "passes",
           difference=differences.settings_difference),
    Factor("answer_prompt", "answer prompt", ("answer_prompt_digest",), lambda run: run.identity.answer_prompt_digest, "passes"),
    Factor("draws", "number of draws", ("draws",), lambda run: run.identity.draws),
    Factor("is_judged", "being judged", ("evaluation_ids",), lambda run: run.identity.is_judged, difference=differences.judged_difference),
    Factor("evaluation_ids", "judged questions or their order", ("evaluation_ids",), lambda run: run.identity.evaluation_ids,
           of_scores=True, difference=differences.order_difference),
    Factor("judge_model", "judge model", ("judge_model",), lambda run: run.identity.judge_model, of_scores=True),
    Factor("judge_provider", "judge provider", ("judge_provider",), lambda run: run.identity.judge_provider, of_scores=True),
    Factor("judge_temperature", "judge temperature", ("judge_temperature",), lambda run: run.identity.judge_temperature, of_scores=True),
    Factor("judge_prompt", "judge prompt", ("judge_prompt_digest",), lambda run: run.identity.judge_prompt_digest, "passes",
           of_scores=True),
    Factor("judge_context", "judge material (judge_context)", ("judge_context",), lambda run: run.identity.judge_context, of_scores=True),
    Factor("grounded_from_topics", "grounding of the judge in expected topics", ("grounded_from_topics",),
           lambda run: run.identity.grounded_from_topics, "passes", of_scores=True),
    Factor("judge", "settings of the judge (judge_digest)", ("judge_digest",), lambda run: run.identity.judge_digest, "passes",
           of_scores=True,
           only_if_equal=("judge_model", "judge_provider", "judge_temperature", "judge_prompt", "grounded_from_topics")),
    Factor("references", "references to grade against", ("references",), _references, "passes", of_scores=True, is_told=False,
           only_if_equal=("question_texts", "grounded_from_topics"), difference=differences.texts_difference),
    Factor("cluster_field", "field that questions are clustered by", ("cluster_field",), lambda run: run.identity.cluster_field, "passes",
           of_scores=True, is_told=False),
)  # fmt: skip

NOT_FACTORS: Mapping[str, str] = {
    "seed": "It asks for other samples of the same thing.",
    "question_set_digest": "It also covers what neither the model nor the judge reads; ids and texts are factors of their own.",
    "question_texts_digest": "The texts themselves are compared, question by question.",
}
"""The fields of `RunIdentity` that no comparison requires equal, and why. A comparison may warn of them."""

DECLARED: Mapping[ComparisonKind, frozenset[str]] = {
    "plugin_delta": frozenset({"plugin_set"}),
    # Cells beside each other: who answers, how it samples, and, with a warning, over which questions; numbers are of the common ones.
    "model_comparison": frozenset(
        {"model", "provider", "base_url", "run_config", "answering", "arms", "total_questions", "question_ids", "evaluation_ids"}
    ),
    # Their arms are the same, and only their order may differ: see `replicates`.
    "pooled_replicates": frozenset({"arms", "total_questions", "question_ids", "evaluation_ids"}),
    # One treatment over models, products and question sets: questions that share an id and not a text are different questions.
    "batch_pool": frozenset(
        {"library_name", "model", "provider", "base_url", "run_config", "answering", "arms"}
        | {"total_questions", "question_ids", "question_texts", "evaluation_ids", "cluster_field"}
    ),
    "cross_judge": frozenset(
        {"judge_model", "judge_provider", "judge_temperature", "judge_prompt", "judge", "is_judged", "evaluation_ids"}
    ),
}
"""The factors that a comparison's runs may differ in."""


def refusals_among(kind: ComparisonKind, runs: Sequence[ComparedRun], *, arms: Collection[str] | None = None) -> list[Refusal]:
    """Return every reason why the runs cannot be compared: what each lacks by itself, then every undeclared factor they differ in.

    One run, or none, has nothing to differ in; what it lacks by itself is found all the same. `arms` are those that numbers are of, None
    for all.
    """
    return [*(refusal for run in runs for refusal in run_refusals(run)), *differing_factors(kind, runs, arms=arms)]


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


def differing_factors(kind: ComparisonKind, runs: Sequence[ComparedRun], *, arms: Collection[str] | None = None) -> list[FactorRefusal]:
    """Return every refusal of a factor that the runs differ in and the comparison does not declare, in the order of the factors.

    `arms` are those that numbers are of, None for all: what the others inject decides nothing.
    """
    return list(_differing(DECLARED[kind], runs, arms)) if len(runs) > 1 else []


def factor_refusals(factor: str, runs: Sequence[ComparedRun]) -> list[FactorRefusal]:
    """Return how runs differ in one factor, for a comparison that asks it of some of its runs alone."""
    return [refusal for one in FACTORS if one.name == factor and len(runs) > 1 for refusal in one.refusals(runs)]


def unstated_factors(kind: ComparisonKind, runs: Sequence[ComparedRun]) -> dict[str, tuple[str, ...]]:
    """Return the words for every factor that should be equal and could not be compared, with the runs that say nothing of it."""
    looked_at = (factor for factor in FACTORS if factor.name not in DECLARED[kind] and factor.where_unknown == "passes")
    return {factor.words: unstated for factor in looked_at if (unstated := factor.unstated_by(runs))}


def _differing(declared: frozenset[str], runs: Sequence[ComparedRun], arms: Collection[str] | None) -> Iterator[FactorRefusal]:
    refused: set[str] = set()
    for factor in FACTORS:
        if factor.name in declared or refused.intersection(factor.only_if_equal):
            continue
        for refusal in factor.refusals(runs, arms):
            refused.add(factor.name)
            yield refusal
