"""The assets of a suite: question set, corpus, answers by cell, scores, summary and report by cell and judge.

None has a backfill policy, so that a backfill makes one run a partition: a cell's data version, spend cap, failure and log are its own.
A run over many partitions could record one data version for all; what it saves, some 5 s of start a partition, is little beside an
evaluation.
"""

import asyncio
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

import dagster as dg

from assets.materialized import materialized
from assets.partitions import SuitePartitions, cell_and_judge_of_key, cell_of_key, suite_partitions
from assets.tables import TABLES
from evalplatform.stages import arm_answers, arm_summary, arms_report, corpus, judged_scores, question_set
from resources.project import ProjectResource

OWNERS = ["team:evaluation"]
SUITE_TAG = "evalplatform/suite"


def suite_definitions(suite_id: str, *, description: str) -> dg.Definitions:
    """Return the assets `suites/<suite>/...` of one suite, and the jobs over them.

    One asset job holds one partitions definition, so answering and judging are two jobs.
    """
    return dg.Definitions(
        assets=suite_assets(suite_id, description=description),
        jobs=[
            dg.define_asset_job(
                f"{group_name(suite_id)}__evaluate_cell",
                selection=dg.AssetSelection.assets(*_keys(suite_id, question_set, corpus, arm_answers)),
                description="Read the questions and arms, and answer them in one cell.",
                tags={SUITE_TAG: suite_id},
            ),
            dg.define_asset_job(
                f"{group_name(suite_id)}__judge_cell",
                selection=dg.AssetSelection.assets(*_keys(suite_id, judged_scores, arm_summary, arms_report)),
                description="Grade one cell's stored answers by one judge, summarise and report. Asks no answer.",
                tags={SUITE_TAG: suite_id},
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
    @_suite_asset(
        suite_id,
        question_set,
        kinds={"python", "json"},
        description=f"The questions, checked and in one spelling. {description}\n\nUnpartitioned: every cell is asked the same questions.",
    )
    def questions(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            return materialized(suite, question_set.materialize_question_set(suite))

    @_suite_asset(
        suite_id,
        corpus,
        kinds={"python", "json"},
        description="What the arms can inject, by digest: documents, skills, profiles.\n\nMaterialize it again after editing one of them; "
        "until then no answer is asked, so that no answer comes from documents nobody recorded.",
    )
    def treatments(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            return materialized(suite, corpus.materialize_corpus(suite))

    return [questions, treatments]


def _cell_assets(suite_id: str, partitions: SuitePartitions) -> list[dg.AssetsDefinition]:
    @_suite_asset(
        suite_id,
        arm_answers,
        kinds={"python", "parquet"},
        reads=(question_set, corpus),
        partitions=partitions.cells,
        description="Every arm's answer to every question, by one model cell. **Asks the cell's model**: a call that is in the ledger is "
        "replayed, not paid again.\n\nA partition is a cell of the project file: its id and six hex digits of what it stands for.",
    )
    def answers(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            cell = cell_of_key(suite, context.partition_key)
            return materialized(suite, asyncio.run(arm_answers.materialize_arm_answers(suite, cell)))

    return [answers]


def _score_assets(suite_id: str, partitions: SuitePartitions) -> list[dg.AssetsDefinition]:
    @_suite_asset(
        suite_id,
        judged_scores,
        kinds={"python", "parquet"},
        reads=(arm_answers,),
        partitions=partitions.scores,
        description="A cell's stored answers, graded by one judge with stored material. **Asks the judge's model, never the cell's.**\n\n"
        "A partition is a cell under a judge.",
    )
    def scores(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            cell, judge = cell_and_judge_of_key(suite, context.partition_key)
            return materialized(suite, asyncio.run(judged_scores.materialize_judged_scores(suite, cell, judge)))

    @_suite_asset(
        suite_id,
        arm_summary,
        kinds={"python", "scipy"},
        reads=(judged_scores, arm_answers),
        partitions=partitions.scores,
        description="Means, paired deltas, interactions and costs of the arms, each with its uncertainty. Computation alone: asks nothing.",
    )
    def summary(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            return materialized(suite, arm_summary.materialize_arm_summary(suite, *cell_and_judge_of_key(suite, context.partition_key)))

    @_suite_asset(
        suite_id,
        arms_report,
        kinds={"python", "html"},
        reads=(arm_summary, judged_scores, arm_answers),
        partitions=partitions.scores,
        description="The report: one page with plots and every answer (HTML), Markdown, arms.v1 (JSON), scores (CSV). Asks nothing.\n\n"
        "The result table is in the metadata of each materialization, beside the command that downloads the files.",
    )
    def report(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened(suite_id, context) as suite:
            return materialized(suite, arms_report.materialize_arms_report(suite, *cell_and_judge_of_key(suite, context.partition_key)))

    return [scores, summary, report]


def _suite_asset(
    suite_id: str,
    stage: ModuleType,
    *,
    description: str,
    kinds: set[str],
    reads: Collection[ModuleType] = (),
    partitions: dg.PartitionsDefinition[str] | None = None,
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return the decorator that declares a stage as an asset: key, code version, group, columns and the rest, alike for all."""
    return dg.asset(
        key=asset_key(suite_id, stage.ASSET),
        code_version=stage.CODE_VERSION,
        description=description,
        group_name=group_name(suite_id),
        owners=OWNERS,
        kinds=kinds,
        tags={SUITE_TAG: suite_id},
        deps=_keys(suite_id, *reads),
        partitions_def=partitions,
        metadata={"dagster/column_schema": TABLES[stage.ASSET].schema()} if stage.ASSET in TABLES else {},
    )


def _keys(suite_id: str, *stages: ModuleType) -> list[dg.AssetKey]:
    return [asset_key(suite_id, stage.ASSET) for stage in stages]
