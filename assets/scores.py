"""What is made of stored answers, by cell and judge: scores, summary, report, as one asset node that runs the chain of score stages.

A run makes up to `PARTITIONS_PER_RUN` partitions, key by key, each through every selected stage, as `batches` says.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import dagster as dg

from assets.batches import PARTITIONS_PER_RUN, Batch, Recorded, keys_of_run
from assets.checks import check_specs, recorded_checks
from assets.declared import asset_key, group_name, suite_spec
from assets.materialized import materialized
from assets.partitions import CELL, JUDGE, SuitePartitions, cell_and_judge_of_key
from assets.provenance import UpstreamPartitions, input_tags, recorded_partition
from assets.run_tags import tag_run
from evalplatform.project.schema import SuiteSettings
from evalplatform.stages import arm_answers
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.score_chain import ChecksMade, StageBegun, StageMade, score_events
from evalplatform.stages.score_stages import ScoreStage, suite_stages
from resources.project import ProjectResource, id_of_spending

Record = Callable[[dg.MaterializeResult[None]], Recorded]
Begin = Callable[[ScoreStage], Record]


def score_assets(suite_id: str, partitions: SuitePartitions, settings: SuiteSettings, *, pool: str | None) -> dg.AssetsDefinition:
    """Return the assets of a suite by cell and judge. Each of them can be materialized without the others; runs wait in the pool."""

    declared = suite_stages(settings)

    @dg.multi_asset(
        name=f"suites__{group_name(suite_id)}__scores",
        specs=[
            suite_spec(suite_id, stage.module, description=stage.description, kinds=stage.kinds, reads=stage.reads) for stage in declared
        ],
        check_specs=[spec for stage in declared for spec in check_specs(suite_id, settings.checks, stage.asset, partitions.scores)],
        can_subset=True,
        partitions_def=partitions.scores,
        backfill_policy=dg.BackfillPolicy.multi_run(PARTITIONS_PER_RUN),
        pool=pool,
    )
    def scores(context: dg.AssetExecutionContext, project: ProjectResource) -> Iterator[Recorded]:
        keys = keys_of_run(context)
        tag_run(
            context, suite_id, cells=[key.keys_by_dimension[CELL] for key in keys], judges=[key.keys_by_dimension[JUDGE] for key in keys]
        )
        wanted = {*context.selected_asset_keys, *(check.asset_key for check in context.selected_asset_check_keys)}
        stages = [stage for stage in declared if asset_key(suite_id, stage.asset) in wanted]
        with project.opened_partitions(suite_id, context) as open_suite:
            if len(keys) == 1:
                yield from _recorded_one(context, open_suite(id_of_spending(context.run)), keys[0], stages)
            else:
                yield from Batch(context, open_suite, partial(_recorded_of_several, context, stages)).recorded(keys)

    return scores


def _recorded_one(
    context: dg.AssetExecutionContext, suite: SuiteContext, key: dg.MultiPartitionKey, stages: Sequence[ScoreStage]
) -> Iterator[Recorded]:
    """Yield the results of one partition; Dagster records what they were made from, and what reads them in the same run goes on."""
    yield from _recorded(context, suite, key, stages, begin=lambda stage: lambda made: made)


def _recorded_of_several(
    context: dg.AssetExecutionContext, stages: Sequence[ScoreStage], suite: SuiteContext, key: dg.MultiPartitionKey
) -> Iterator[Recorded]:
    """Yield the results of one partition of a run of several, each with what it was made from."""

    def begin(stage: ScoreStage) -> Record:
        # Read before the stage is made: what is recorded of its sources meanwhile, it was not made from.
        inputs = input_tags(context.instance, upstream_partitions(suite.suite_id, stage, key))
        return partial(recorded_partition, key=key, code_version=stage.code_version, inputs=inputs)

    yield from _recorded(context, suite, key, stages, begin=begin)


def _recorded(
    context: dg.AssetExecutionContext, suite: SuiteContext, key: dg.MultiPartitionKey, stages: Sequence[ScoreStage], *, begin: Begin
) -> Iterator[Recorded]:
    """Yield what is recorded of one partition, stage by stage, each with its checks. Raises CheckFailedError where one blocks."""
    cell, judge = cell_and_judge_of_key(suite, key)
    # The other stages were selected for their checks alone.
    made = [stage.asset for stage in stages if asset_key(suite.suite_id, stage.asset) in context.selected_asset_keys]
    records: dict[str, Record] = {}
    for event in score_events(suite, cell, judge, stages, made=made):
        match event:
            case StageBegun():
                records[event.stage.asset] = begin(event.stage)
            case StageMade():
                yield records[event.stage.asset](materialized(suite, event.result))
            case ChecksMade():
                yield from recorded_checks(context, suite, event.results, key)


def upstream_partitions(suite_id: str, stage: ScoreStage, key: dg.MultiPartitionKey) -> UpstreamPartitions:
    """Return the partitions that a stage reads for a key: the answers of its cell, and the same key of what has cell and judge."""
    return {asset_key(suite_id, read.ASSET): key.keys_by_dimension[CELL] if read is arm_answers else str(key) for read in stage.reads}
