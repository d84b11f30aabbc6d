"""The answers of a suite by cell. They have no backfill policy: one run a partition, with a spend cap, a log and a failure of its own."""

import asyncio
from collections.abc import Iterator

import dagster as dg

from assets.checks import check_specs, recorded_checks
from assets.declared import group_name, suite_spec
from assets.materialized import materialized
from assets.partitions import SuitePartitions, cell_of_key
from assets.run_tags import tag_run
from evalplatform.project.policy import SuiteChecks
from evalplatform.stages import arm_answers, corpus, question_set
from evalplatform.stages.checks.stored import answer_check_results, refuse_blocked
from resources.project import ProjectResource

Recorded = dg.MaterializeResult[None] | dg.AssetCheckEvaluation


def answer_asset(suite_id: str, partitions: SuitePartitions, checks: SuiteChecks, *, pool: str | None) -> dg.AssetsDefinition:
    """Return the asset `arm_answers` of a suite; its runs wait in the pool."""

    spec = suite_spec(
        suite_id,
        arm_answers,
        kinds={"python", "parquet"},
        reads=(question_set, corpus),
        description="Every arm's answer to every question, by one model cell. **Asks the cell's model**: a call that is in the ledger "
        "is replayed, not paid again.\n\nA partition is a cell of the project file: its id and six hex digits of what it stands for.",
    )

    # One asset, declared as one of several: only then may a check that could not be made be left out.
    @dg.multi_asset(
        name=f"suites__{group_name(suite_id)}__{arm_answers.ASSET}",
        specs=[spec],
        check_specs=check_specs(suite_id, checks, arm_answers.ASSET, partitions.cells),
        can_subset=True,
        partitions_def=partitions.cells,
        pool=pool,
    )
    def answers(context: dg.AssetExecutionContext, project: ProjectResource) -> Iterator[Recorded]:
        tag_run(context, suite_id, cells=[context.partition_key])
        with project.opened(suite_id, context) as suite:
            cell = cell_of_key(suite, context.partition_key)
            if spec.key in context.selected_asset_keys:  # its checks can be made again without it
                yield materialized(suite, asyncio.run(arm_answers.materialize_arm_answers(suite, cell)))
            found = answer_check_results(suite, cell)
            yield from recorded_checks(context, suite, found, context.partition_key)
            refuse_blocked(suite, found, partition=cell.key)

    return answers
