"""Stage `arm_summary` [cell x judge]: means, paired deltas, interactions and costs, unrounded."""

from collections.abc import Mapping

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.comparisons.records import ArmSummary
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.seeds import derived_seed
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages import arm_answers, judged_scores, question_set
from evalplatform.stages.context import (
    StageKey,
    StageResult,
    SuiteContext,
    refuse_mixed_versions,
    stored_result,
    unchanged_result,
    versions_of,
)
from evalplatform.stages.facts import SummaryFacts, answer_facts, as_facts, score_facts
from evalplatform.stages.question_clusters import suite_clusters

ASSET = "arm_summary"
CODE_VERSION = "4"
FILE = "summary.json"


def materialize_arm_summary(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> StageResult:
    """Summarise one cell under one judge, or its answers alone where there is no judge: pure computation, no call.

    Raises:
        InputError: answers or scores were never materialized, or the scores are of earlier answers.
    """
    answers_manifest = context.upstream(arm_answers.ASSET, cell.key)
    scores_manifest = None if judge is None else context.upstream(judged_scores.ASSET, judged_scores.partition(cell.key, judge.key))
    if scores_manifest is not None:
        refuse_mixed_versions(scores_manifest, answers_manifest)
    suite = context.suite
    lineage = (answers_manifest,) if scores_manifest is None else (answers_manifest, scores_manifest)
    key = StageKey(
        context.artifact(ASSET, partition(cell, judge)),
        inputs=summary_inputs(context, cell, judge, versions_of(lineage)),
        code_version=CODE_VERSION,
        lineage=lineage,
    )
    if (known := unchanged_result(context, key)) is not None:
        return known
    questions = question_set.asked_questions(context, answers_manifest)
    summary = summarise_arms(
        arms=[arm.name for arm in answer_facts(answers_manifest).arms],
        baseline_arm=suite.baseline_arm,
        question_ids=[question.id for question in questions.questions],
        answers=arm_answers.stored_answers(context, answers_manifest),
        scores=() if scores_manifest is None else judged_scores.stored_points(context, scores_manifest),
        timings=arm_answers.stored_timings(context, answers_manifest),
        draws=arm_answers.stored_draws(answers_manifest),
        correction=suite.correction,
        specs={arm.name: arm.spec for arm in answer_facts(answers_manifest).arms},
        clusters=suite_clusters(context, questions),
        required_documents=questions.required_documents,
        seed=derived_seed("arm_summary", key.data_version),
    )
    facts = SummaryFacts(
        coverage_rate=summary.coverage_rate,
        mean_points={arm: score.mean_points for arm, score in summary.scores.items()},
        complete=answer_facts(answers_manifest).complete and (scores_manifest is None or score_facts(scores_manifest).complete),
    )
    return stored_result(context, key, files={FILE: summary.model_dump_json(indent=1).encode()}, facts=as_facts(facts))


def summary_inputs(context: SuiteContext, cell: Cell, judge: JudgeCell | None, versions: Mapping[str, str]) -> dict[str, str]:
    """Return the named inputs of a summary, given the data versions of the answers and, where there is a judge, of its scores."""
    suite = context.suite
    read = (arm_answers.ASSET,) if judge is None else (arm_answers.ASSET, judged_scores.ASSET)
    return {
        **{asset: versions[asset] for asset in read},
        "baseline_arm": suite.baseline_arm,
        "statistics": json_digest([suite.correction, suite.cluster_field]),
    }


def partition(cell: Cell, judge: JudgeCell | None) -> str:
    """Return the partition of a cell under a judge, or of a cell that nobody judged."""
    return cell.key if judge is None else judged_scores.partition(cell.key, judge.key)


def stored_summary(context: SuiteContext, manifest: ArtifactManifest) -> ArmSummary:
    """Return the summary of a stored version."""
    return ArmSummary.model_validate_json(context.catalog.read(manifest, FILE))
