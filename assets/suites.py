"""The assets of a suite: question set, corpus, answers by cell, scores, summary and report by cell and judge."""

import asyncio
from collections.abc import Sequence

import dagster as dg

from assets.materialized import materialized
from assets.partitions import CELL, JUDGE, SuitePartitions, suite_partitions
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages import arm_answers, arm_summary, arms_report, corpus, judged_scores, question_set
from evalplatform.stages.context import SuiteContext
from resources.project import ProjectResource

OWNERS = ["team:evaluation"]


def suite_definitions(suite_id: str, *, description: str) -> dg.Definitions:
    """Return the assets `suites/<suite>/...` of one suite, and the jobs over them.

    One asset job holds one partitions definition, so answering and judging are two jobs.
    """
    assets = suite_assets(suite_id, description=description)
    by_name = {asset.key.path[-1]: asset for asset in assets}
    tags = {"evalplatform/suite": suite_id}
    return dg.Definitions(
        assets=assets,
        jobs=[
            dg.define_asset_job(
                f"{group_name(suite_id)}__evaluate_cell",
                selection=[by_name[asset] for asset in (question_set.ASSET, corpus.ASSET, arm_answers.ASSET)],
                description="Read the questions and arms, and answer them in one cell.",
                tags=tags,
            ),
            dg.define_asset_job(
                f"{group_name(suite_id)}__judge_cell",
                selection=[by_name[asset] for asset in (judged_scores.ASSET, arm_summary.ASSET, arms_report.ASSET)],
                description="Grade one cell's stored answers by one judge, summarise and report. Asks no answer.",
                tags=tags,
            ),
        ],
    )


def suite_assets(suite_id: str, *, description: str) -> list[dg.AssetsDefinition]:
    """Return the assets of one suite, in the order of the data."""
    partitions = suite_partitions(suite_id)
    return [*_source_assets(suite_id, description), *_cell_assets(suite_id, partitions), *_score_assets(suite_id, partitions)]


def asset_key(suite_id: str, asset: str) -> dg.AssetKey:
    """Return the key of a suite's asset."""
    return dg.AssetKey(["suites", suite_id, asset])


def group_name(suite_id: str) -> str:
    """Return the suite's id as Dagster allows it in the name of a group or job."""
    return suite_id.replace("-", "_").replace(".", "_")


def _source_assets(suite_id: str, description: str) -> list[dg.AssetsDefinition]:
    @dg.asset(
        key=asset_key(suite_id, question_set.ASSET),
        code_version=question_set.CODE_VERSION,
        kinds={"python", "json"},
        owners=OWNERS,
        group_name=group_name(suite_id),
        description=f"The questions, checked and in one spelling. {description}",
    )
    def questions(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            return materialized(suite, question_set.materialize_question_set(suite))

    @dg.asset(
        key=asset_key(suite_id, corpus.ASSET),
        code_version=corpus.CODE_VERSION,
        kinds={"python", "json"},
        owners=OWNERS,
        group_name=group_name(suite_id),
        description="The digests of all that the arms can inject: documents, skills, profiles.",
    )
    def treatments(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            return materialized(suite, corpus.materialize_corpus(suite))

    return [questions, treatments]


def _cell_assets(suite_id: str, partitions: SuitePartitions) -> list[dg.AssetsDefinition]:
    @dg.asset(
        key=asset_key(suite_id, arm_answers.ASSET),
        code_version=arm_answers.CODE_VERSION,
        kinds={"python", "parquet"},
        owners=OWNERS,
        group_name=group_name(suite_id),
        description="Every arm's answer to every question, by one model cell.",
        partitions_def=partitions.cells,
        deps=[asset_key(suite_id, question_set.ASSET), asset_key(suite_id, corpus.ASSET)],
        backfill_policy=dg.BackfillPolicy.multi_run(1),
    )
    def answers(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            cell = cell_of_key(suite, context.partition_key)
            return materialized(suite, asyncio.run(arm_answers.materialize_arm_answers(suite, cell)))

    return [answers]


def _score_assets(suite_id: str, partitions: SuitePartitions) -> list[dg.AssetsDefinition]:
    @dg.asset(
        key=asset_key(suite_id, judged_scores.ASSET),
        code_version=judged_scores.CODE_VERSION,
        kinds={"python", "parquet"},
        owners=OWNERS,
        group_name=group_name(suite_id),
        description="Stored answers graded by one judge with stored material.",
        partitions_def=partitions.scores,
        deps=[asset_key(suite_id, arm_answers.ASSET)],
    )
    def scores(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            cell, judge = cell_and_judge_of_key(suite, context)
            return materialized(suite, asyncio.run(judged_scores.materialize_judged_scores(suite, cell, judge)))

    @dg.asset(
        key=asset_key(suite_id, arm_summary.ASSET),
        code_version=arm_summary.CODE_VERSION,
        kinds={"python", "scipy"},
        owners=OWNERS,
        group_name=group_name(suite_id),
        description="Means, paired deltas, interactions and costs, each with its uncertainty.",
        partitions_def=partitions.scores,
        deps=[asset_key(suite_id, judged_scores.ASSET), asset_key(suite_id, arm_answers.ASSET)],
    )
    def summary(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            return materialized(suite, arm_summary.materialize_arm_summary(suite, *cell_and_judge_of_key(suite, context)))

    @dg.asset(
        key=asset_key(suite_id, arms_report.ASSET),
        code_version=arms_report.CODE_VERSION,
        kinds={"python", "html"},
        owners=OWNERS,
        group_name=group_name(suite_id),
        description="The report: arms.v1, Markdown, HTML with plots, CSV.",
        partitions_def=partitions.scores,
        deps=[asset_key(suite_id, arm_summary.ASSET), asset_key(suite_id, judged_scores.ASSET), asset_key(suite_id, arm_answers.ASSET)],
    )
    def report(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            return materialized(suite, arms_report.materialize_arms_report(suite, *cell_and_judge_of_key(suite, context)))

    return [scores, summary, report]


def cell_of_key(suite: SuiteContext, key: str) -> Cell:
    """Return the suite's cell with that partition key.

    Raises:
        dagster.Failure: no cell of the project file has it: the cell was edited or removed since the partition was made.
    """
    cells = {cell.key: cell for cell in suite.project.cells_of(suite.suite_id)}
    if key not in cells:
        raise _retired("cell", key, list(cells))
    return cells[key]


def cell_and_judge_of_key(suite: SuiteContext, context: dg.AssetExecutionContext) -> tuple[Cell, JudgeCell]:
    """Return the cell and the judge of the step's partition, or raise dagster.Failure as `cell_of_key` does."""
    key = context.partition_key
    assert isinstance(key, dg.MultiPartitionKey)  # the assets that call this have two dimensions
    judges = {judge.key: judge for judge in suite.project.judges_of(suite.suite_id)}
    judge_key = key.keys_by_dimension[JUDGE]
    if judge_key not in judges:
        raise _retired("judge", judge_key, list(judges))
    return cell_of_key(suite, key.keys_by_dimension[CELL]), judges[judge_key]


def _retired(what: str, key: str, known: Sequence[str]) -> dg.Failure:
    return dg.Failure(
        description=f"No {what} of the project file has the key {key!r} any more (now: {', '.join(known)}). "
        "What it made is kept; edit the project file back to add to it.",
        allow_retries=False,
    )
