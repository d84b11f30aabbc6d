"""A cell under a judge as comparisons across runs see it, from its stored answers, scores and summary.

What identifies the run is what its arms.v1 file says of it; a comparison over stored cells and one over their files refuse for the same
reasons.
"""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from pydantic import JsonValue

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.compared_run import PROVIDER_ADDRESS, ComparedArm, ComparedRun, CostFigures, RunIdentity
from evalplatform.comparisons.question_scores import question_scores
from evalplatform.comparisons.records import ArmCost, ArmSummary
from evalplatform.comparisons.run_factors import (
    arm_content_digests,
    config_without_seed,
    profile_prompts,
    question_texts_digest,
    retrieval_settings,
)
from evalplatform.judging.judge import judge_model_stamp
from evalplatform.kernel.digests import json_digest
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.questions.records import QuestionSet
from evalplatform.reports.arms_v1 import judge_context_stamp, question_reference, run_config_block
from evalplatform.stages import arm_answers, arm_summary, judged_scores, question_set
from evalplatform.stages.context import SuiteContext, refuse_mixed_versions
from evalplatform.stages.facts import AnswerFacts, answer_facts, score_facts
from evalplatform.stages.question_clusters import stored_clusters
from evalplatform.stages.tables import AnswerShape
from evalplatform.stats.mean import plain_mean


@dataclass(frozen=True)
class RunVersions:
    """The stored versions that one run is read from: they were made from each other."""

    answers: ArtifactManifest
    scores: ArtifactManifest | None
    summary: ArtifactManifest

    @property
    def lineage(self) -> tuple[ArtifactManifest, ...]:
        """All of them, in the order of the data."""
        return tuple(manifest for manifest in (self.answers, self.scores, self.summary) if manifest is not None)

    @property
    def complete(self) -> bool:
        """Whether a rerun of its answers and scores would ask nothing."""
        return answer_facts(self.answers).complete and (self.scores is None or score_facts(self.scores).complete)


def stored_run(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> ComparedRun:
    """Return a cell under a judge, or its answers alone where there is no judge, as it is stored now. Raises as `current_versions` does."""
    return compared_run(context, current_versions(context, cell, judge))


def current_versions(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> RunVersions:
    """Return the current versions of a cell's answers, scores and summary.

    Raises:
        InputError: one was never materialized, or the summary is of earlier answers or scores.
    """
    partition = arm_summary.partition(cell, judge)
    answers = context.upstream(arm_answers.ASSET, cell.key)
    scores = None if judge is None else context.upstream(judged_scores.ASSET, partition)
    summary = context.upstream(arm_summary.ASSET, partition)
    refuse_mixed_versions(summary, answers, *(() if scores is None else (scores,)))
    return RunVersions(answers=answers, scores=scores, summary=summary)


def compared_run(context: SuiteContext, versions: RunVersions) -> ComparedRun:
    """Return the run that the named versions hold, whatever is current by now.

    A question's points and lengths are means over its draws: points over the scored ones, lengths over the answered ones. An arm's row of
    a question counts as failed where every draw of it failed.

    Raises:
        ObjectNotFoundError: the questions that were asked are gone from the store.
    """
    questions = question_set.asked_questions(context, versions.answers)
    answered = answer_facts(versions.answers)
    arms = {arm.name: _ArmRows() for arm in answered.arms}
    for shape in arm_answers.stored_shapes(context, versions.answers):
        arms[shape.arm].add(shape)
    provenance = _Provenance.of(context, versions, arms)
    summary = arm_summary.stored_summary(context, versions.summary)
    scored = question_scores(
        () if versions.scores is None else judged_scores.stored_points(context, versions.scores),
        arms=list(arms),
        question_ids=[question.id for question in questions.questions],
        draws=summary.draws,
    )
    clusters = stored_clusters(questions, summary)
    return ComparedRun(
        name=answered.cell.id,
        source=f"{versions.summary.artifact.path}@{versions.summary.data_version}",
        identity=_identity(context, versions, questions, summary, provenance),
        arms={
            arm: rows.compared(
                points=scored[arm].points,
                unscored_reasons={} if versions.scores is None else scored[arm].unscored_reasons,
                cost=summary.costs[arm],
            )
            for arm, rows in arms.items()
        },
        difficulty={question.id: question.difficulty for question in questions.questions if question.difficulty is not None},
        question_texts={question.id: question.question for question in questions.questions},
        references=_references(versions, questions),
        clusters=None if clusters is None else clusters.labels,
        has_judge_metrics=provenance.calls > 0,
        truncated_reason=_truncated_reason(versions),
    )


def _references(versions: RunVersions, questions: QuestionSet) -> dict[str, str]:
    from_topics = versions.scores is not None and score_facts(versions.scores).judge.settings.grounded_from_topics
    references = {question.id: question_reference(question, from_topics=from_topics) for question in questions.questions}
    return {question: reference for question, reference in references.items() if reference is not None}


@dataclass(frozen=True)
class _Provenance:
    """What the scores of answers saw, counted, and how many calls they took."""

    stored: int = 0
    snippets: int = 0
    calls: int = 0

    @classmethod
    def of(cls, context: SuiteContext, versions: RunVersions, arms: Mapping[str, "_ArmRows"]) -> "_Provenance":
        if versions.scores is None:
            return cls()
        rows = judged_scores.stored_provenance(context, versions.scores)
        kept = [row for row in rows if (row.question_id, row.draw) in arms[row.arm].with_answer]
        sources = Counter(row.material_source for row in kept)
        return cls(stored=sources["stored"], snippets=sources["snippet_fallback"], calls=sum(row.calls for row in kept))


def _identity(
    context: SuiteContext, versions: RunVersions, questions: QuestionSet, summary: ArmSummary, provenance: _Provenance
) -> RunIdentity:
    answered = answer_facts(versions.answers)
    cell, judge = answered.cell, None if versions.scores is None else score_facts(versions.scores).judge
    from_topics = judge is not None and judge.settings.grounded_from_topics
    of_answers = RunIdentity(
        library_name=context.suite.product,
        model=cell.model,
        provider=cell.provider,
        base_url=PROVIDER_ADDRESS if cell.base_url is None else cell.base_url,
        harness=cell.harness,
        plugin_set=cell.plugin_set,
        plugin_set_id=cell.plugin_set_id,
        arms=summary.arms,
        baseline_arm=summary.baseline_arm,
        arm_content_digests=arm_content_digests(summary.arms, versions.answers.inputs),
        total_questions=len(questions.questions),
        question_ids=tuple(question.id for question in questions.questions),
        question_texts_digest=question_texts_digest(question.question for question in questions.questions),
        question_set_digest=questions.digest,
        run_config=config_without_seed(run_config_block(cell.sampling, grounded_from_topics=from_topics)),
        seed=cell.sampling.seed,
        answering_digest=cell.answering_digest,
        retrieval=_retrieval(answered),
        answer_prompt_digest=versions.answers.inputs.get("answer_prompt"),
        draws=summary.draws,
        cluster_field=summary.cluster_field,
    )
    return of_answers if judge is None else _judged(of_answers, judge, provenance)


def _judged(run: RunIdentity, judge: JudgeCell, provenance: _Provenance) -> RunIdentity:
    return run.with_changes(
        evaluation_ids=run.question_ids,
        judge_model=judge_model_stamp(judge.settings.model, judge.roles),
        judge_provider=judge.settings.provider,
        judge_temperature=judge.settings.sampling.temperature,
        judge_prompt_digest=judge.prompt_digest,
        judge_digest=judge.behaviour_digest,
        judge_context=judge_context_stamp(stored=provenance.stored, snippets=provenance.snippets),
        grounded_from_topics=judge.settings.grounded_from_topics,
    )


def _retrieval(answered: AnswerFacts) -> dict[str, JsonValue] | None:
    found = answered.retrieval
    if found is None:
        return None
    return retrieval_settings(top_k=found.top_k, rerank_threshold=found.rerank_threshold, reranker=found.reranker)


def _truncated_reason(versions: RunVersions) -> str | None:
    of_answers = answer_facts(versions.answers).truncated_reason
    return of_answers or (None if versions.scores is None else score_facts(versions.scores).truncated_reason)


@dataclass
class _ArmRows:
    """What is gathered of one arm's answers, row by row; of each question, over its draws."""

    asked: dict[str, int] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    with_system_prompt: set[str] = field(default_factory=set)
    profile_prompts: set[tuple[str, ...]] = field(default_factory=set)
    materials: dict[str, set[str]] = field(default_factory=dict)
    with_answer: set[tuple[str, int]] = field(default_factory=set)
    raw_chars: dict[str, list[int]] = field(default_factory=dict)
    final_chars: dict[str, list[int]] = field(default_factory=dict)

    def add(self, shape: AnswerShape) -> None:
        question = shape.question_id
        self.asked[question] = self.asked.get(question, 0) + 1
        self.failed[question] += shape.state == "failed"
        if shape.used_system_prompt and shape.state != "failed":
            self.with_system_prompt.add(question)
        if prompts := profile_prompts(shape.metadata):
            self.profile_prompts.add(prompts)
        if shape.material_digest is not None:
            self.materials.setdefault(question, set()).add(shape.material_digest)
        if shape.answer is not None:
            self.with_answer.add((question, shape.draw))
            raw = shape.answer if shape.raw_answer is None else shape.raw_answer
            self.raw_chars.setdefault(question, []).append(len(raw))
            self.final_chars.setdefault(question, []).append(len(shape.answer))

    def compared(self, *, points: Mapping[str, float], unscored_reasons: Mapping[str, int], cost: ArmCost) -> ComparedArm:
        return ComparedArm(
            points=points,
            unscored_reasons=unscored_reasons,
            answers=len(self.asked),
            failed=sum(self.failed[question] == draws for question, draws in self.asked.items()),
            with_system_prompt=len(self.with_system_prompt),
            profile_prompts=frozenset(self.profile_prompts),
            material_digests={question: _one_digest(digests) for question, digests in self.materials.items()},
            raw_answer_chars={question: plain_mean(chars) for question, chars in self.raw_chars.items()},
            final_answer_chars={question: plain_mean(chars) for question, chars in self.final_chars.items()},
            cost=_cost_figures(cost),
        )


def _one_digest(digests: Set[str]) -> str:
    """Return the digest that all draws of a question share, or one of them all."""
    return next(iter(digests)) if len(digests) == 1 else json_digest(sorted(digests))


def _cost_figures(cost: ArmCost) -> CostFigures:
    """Return what an arm cost; an arm without a finished answer states nothing, as in arms.v1."""
    if not cost.answers:
        return CostFigures()
    return CostFigures(
        answers=cost.answers,
        priced_answers=cost.priced_answers,
        total_cost_usd=cost.total_cost_usd,
        prompt_tokens=cost.prompt_tokens,
        completion_tokens=cost.completion_tokens,
        total_tokens=cost.total_tokens,
        mean_latency_seconds=cost.mean_latency_seconds,
        mean_time_to_first_token_seconds=cost.mean_time_to_first_token_seconds,
    )
