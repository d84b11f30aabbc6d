"""The answers of a suite by cell. They have no backfill policy: one run a partition, with a spend cap, a log and a failure of its own."""

import asyncio

import dagster as dg

from assets.declared import suite_asset
from assets.materialized import materialized
from assets.partitions import SuitePartitions, cell_of_key
from assets.run_tags import tag_run
from evalplatform.stages import arm_answers, corpus, question_set
from resources.project import ProjectResource


def answer_asset(suite_id: str, partitions: SuitePartitions) -> dg.AssetsDefinition:
    """Return the asset `arm_answers` of a suite."""

    @suite_asset(
        suite_id,
        arm_answers,
        kinds={"python", "parquet"},
        reads=(question_set, corpus),
        description="Every arm's answer to every question, by one model cell. **Asks the cell's model**: a call that is in the ledger "
        "is replayed, not paid again.\n\nA partition is a cell of the project file: its id and six hex digits of what it stands for.",
        partitions=partitions.cells,
    )
    def answers(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        tag_run(context, suite_id, cells=[context.partition_key])
        with project.opened(suite_id, context) as suite:
            cell = cell_of_key(suite, context.partition_key)
            return materialized(suite, asyncio.run(arm_answers.materialize_arm_answers(suite, cell)))

    return answers
