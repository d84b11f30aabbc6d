"""What is made of stored answers, by cell and judge: scores, summary, report, as one asset node that runs the chain of score stages.

A run makes up to `PARTITIONS_PER_RUN` partitions, key by key, each through every selected stage. What a key finished is recorded at once; a
key that fails leaves the others be, and the run fails at its end with the names of those that did.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import dagster as dg

from assets.checks import check_specs, recorded_checks
from assets.declared import asset_key, group_name, suite_spec
from assets.materialized import materialized
from assets.partitions import CELL, JUDGE, SuitePartitions, cell_and_judge_of_key, multi_partition_key
from assets.provenance import UpstreamPartitions, input_tags, recorded_partition
from assets.run_tags import tag_run
from evalplatform.kernel.errors import EvalplatformError
from evalplatform.kernel.text import plural
from evalplatform.project.schema import SuiteSettings
from evalplatform.stages import arm_answers
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.score_chain import ChecksMade, StageBegun, StageMade, score_events
from evalplatform.stages.score_stages import ScoreStage, suite_stages
from resources.project import OpenSuite, ProjectResource, failure_of, id_of_spending

# Measured, see docs/backfills.md: a run's start costs as much as seven partitions do, and beyond 25 little of it is left to save.
PARTITIONS_PER_RUN = 25
MAX_SHOWN_KEYS = 10

Recorded = dg.MaterializeResult[None] | dg.AssetMaterialization | dg.AssetCheckEvaluation
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
                yield from _Batch(context, suite_id, stages, open_suite).recorded(keys)

    return scores


def keys_of_run(context: dg.AssetExecutionContext) -> list[dg.MultiPartitionKey]:
    """Return the partition keys of the body's run, each once; a launch may give one as the plain text `CELL|JUDGE`, or a range of them."""
    keys = context.partition_keys if context.has_partition_key_range else [context.partition_key]
    return list(dict.fromkeys(multi_partition_key(key) for key in keys))


def _recorded_one(
    context: dg.AssetExecutionContext, suite: SuiteContext, key: dg.MultiPartitionKey, stages: Sequence[ScoreStage]
) -> Iterator[Recorded]:
    """Yield the results of one partition; Dagster records what they were made from, and what reads them in the same run goes on."""
    yield from _recorded(context, suite, key, stages, begin=lambda stage: lambda made: made)


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


@dataclass
class _Batch:
    """Several partitions made by one run, each with a run id of its own for the ledger, so that a spend cap is a partition's."""

    context: dg.AssetExecutionContext
    suite_id: str
    stages: Sequence[ScoreStage]
    open_suite: OpenSuite
    failures: dict[dg.MultiPartitionKey, dg.Failure] = field(default_factory=dict)

    def recorded(self, keys: Sequence[dg.MultiPartitionKey]) -> Iterator[Recorded]:
        """Yield what is finished, key by key, and raise at the end where a key failed."""
        for number, key in enumerate(keys, start=1):
            self.context.log.info(f"partition {number} of {len(keys)}: {key}")
            try:
                yield from self._partition(key, run_id=f"{id_of_spending(self.context.run)}.{number}")
            except Exception as error:
                self.context.log.error(f"partition {key}: {error}", exc_info=not isinstance(error, dg.Failure | EvalplatformError))
                self.failures[key] = failure_of(error)
        if self.failures:
            raise failure_of_batch(self.failures, partitions=len(keys))

    def _partition(self, key: dg.MultiPartitionKey, *, run_id: str) -> Iterator[Recorded]:
        def begin(stage: ScoreStage) -> Record:
            # Read before the stage is made: what is recorded of its sources meanwhile, it was not made from.
            inputs = input_tags(self.context.instance, upstream_partitions(self.suite_id, stage, key))
            return partial(recorded_partition, key=key, code_version=stage.code_version, inputs=inputs)

        yield from _recorded(self.context, self.open_suite(run_id), key, self.stages, begin=begin)


def upstream_partitions(suite_id: str, stage: ScoreStage, key: dg.MultiPartitionKey) -> UpstreamPartitions:
    """Return the partitions that a stage reads for a key: the answers of its cell, and the same key of what has cell and judge."""
    return {asset_key(suite_id, read.ASSET): key.keys_by_dimension[CELL] if read is arm_answers else str(key) for read in stage.reads}


def failure_of_batch(failures: Mapping[dg.MultiPartitionKey, dg.Failure], *, partitions: int) -> dg.Failure:
    """Return the one failure of a run of which some partitions failed. It is tried again unless a retry can mend none of them."""
    reasons = {str(key): failure.description or "" for key, failure in failures.items()}
    shown = [f"{key}: {reason}" for key, reason in list(reasons.items())[:MAX_SHOWN_KEYS]]
    left = len(reasons) - len(shown)
    finished = partitions - len(failures)
    return dg.Failure(
        description="\n".join(
            [
                f"{len(failures)} of {plural(partitions, 'partition')} failed; {finished} finished and stay materialized.",
                *shown,
                *([f"and {left} more"] if left else []),
            ]
        ),
        metadata={"failed_partitions": dg.MetadataValue.json(reasons), "finished_partitions": finished},
        allow_retries=any(failure.allow_retries for failure in failures.values()),
    )
