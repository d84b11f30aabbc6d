"""What compares cells of a suite: plugin deltas by plugin cell and judge, and what is over many cells by judge. None of it asks a model.

A refusal is a result: the artifact is there with its reasons, and the check `comparable` fails with them. A run fails only of what cannot
be read: a cell without its pair, a summary that was never made.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import dagster as dg

from assets.batches import PARTITIONS_PER_RUN, Batch, Recorded, keys_of_run
from assets.checks import check_spec, checked_materialization
from assets.declared import asset_key, group_name, suite_spec
from assets.materialized import materialized
from assets.partitions import CELL, JUDGE, SuitePartitions, cell_and_judge_of_key, judge_of_key
from assets.provenance import input_tags, recorded_partition
from assets.run_tags import tag_run
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages.comparison_stages import READS, Comparison, ComparisonStage
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.facts import comparison_facts_of
from evalplatform.stages.report_findings import COMPARABLE
from resources.project import ProjectResource, id_of_spending

Record = Callable[[dg.MaterializeResult[None]], Recorded]
Begin = Callable[[ComparisonStage], Record]

_CHECK = (
    "Fails where something may not be compared, with every reason: cells that differ in more than was declared would give a number that "
    "looks fine and means nothing. Fails as well where too few questions were scored, or too few cells, for an answer.\n\nIt has no "
    "settings."
)


def comparison_assets(suite_id: str, partitions: SuitePartitions, stages: Sequence[ComparisonStage]) -> list[dg.AssetsDefinition]:
    """Return the assets of the comparison stages that a suite has something for: one node for each kind of partition."""
    of_plugin_cells = [stage for stage in stages if stage.of_plugin_cells]
    over_cells = [stage for stage in stages if not stage.of_plugin_cells]
    return [
        *([_deltas_node(suite_id, partitions, of_plugin_cells)] if of_plugin_cells else []),
        *([_judges_node(suite_id, partitions, over_cells)] if over_cells else []),
    ]


def _deltas_node(suite_id: str, partitions: SuitePartitions, stages: Sequence[ComparisonStage]) -> dg.AssetsDefinition:
    """Return the assets by plugin cell and judge; a run makes several, as one of scores does."""

    @dg.multi_asset(
        name=f"suites__{group_name(suite_id)}__deltas",
        specs=_specs(suite_id, stages, mapping=_same_cell_and_judge()),
        check_specs=_check_specs(suite_id, stages, partitions.deltas),
        can_subset=True,
        partitions_def=partitions.deltas,
        backfill_policy=dg.BackfillPolicy.multi_run(PARTITIONS_PER_RUN),
    )
    def deltas(context: dg.AssetExecutionContext, project: ProjectResource) -> Iterator[Recorded]:
        keys = keys_of_run(context)
        tag_run(
            context, suite_id, cells=[key.keys_by_dimension[CELL] for key in keys], judges=[key.keys_by_dimension[JUDGE] for key in keys]
        )

        def make(suite: SuiteContext, key: dg.MultiPartitionKey, *, begin: Begin | None = None) -> Iterator[Recorded]:
            cell, judge = cell_and_judge_of_key(suite, key)
            return _recorded(context, suite, stages, cell, judge, key=key, begin=begin or partial(_begun, context.instance, suite_id, key))

        with project.opened_partitions(suite_id, context) as open_suite:
            if len(keys) == 1:
                yield from make(open_suite(id_of_spending(context.run)), keys[0], begin=_recorded_by_dagster)
            else:
                yield from Batch(context, open_suite, make).recorded(keys)

    return deltas


def _judges_node(suite_id: str, partitions: SuitePartitions, stages: Sequence[ComparisonStage]) -> dg.AssetsDefinition:
    """Return the assets by judge. They have no backfill policy: one run a judge."""

    @dg.multi_asset(
        name=f"suites__{group_name(suite_id)}__comparisons",
        specs=_specs(suite_id, stages),
        check_specs=_check_specs(suite_id, stages, partitions.judges),
        can_subset=True,
        partitions_def=partitions.judges,
    )
    def comparisons(context: dg.AssetExecutionContext, project: ProjectResource) -> Iterator[Recorded]:
        key = context.partition_key
        tag_run(context, suite_id, judges=[key])
        with project.opened(suite_id, context) as suite:
            yield from _recorded(context, suite, stages, None, judge_of_key(suite, key), key=key, begin=_recorded_by_dagster)

    return comparisons


def _recorded(
    context: dg.AssetExecutionContext,
    suite: SuiteContext,
    stages: Sequence[ComparisonStage],
    cell: Cell | None,
    judge: JudgeCell,
    *,
    key: str,
    begin: Begin,
) -> Iterator[Recorded]:
    """Yield what is recorded of one partition, stage by stage, each with its check; a stage may be selected for its check alone."""
    checked = {check.asset_key for check in context.selected_asset_check_keys}
    for stage in stages:
        asset = asset_key(suite.suite_id, stage.asset)
        manifest = None
        if asset in context.selected_asset_keys:
            record = begin(stage)
            result = stage.materialize(suite, cell, judge)
            manifest = result.manifest
            yield record(materialized(suite, result))
        if asset in checked:
            place = Comparison(stage=stage, cell=cell, judge=judge, compared=()).partition
            yield comparable_evaluation(context.instance, asset, manifest or suite.upstream(stage.asset, place), key)


def _recorded_by_dagster(stage: ComparisonStage) -> Record:
    """Dagster itself records what a partition was made from, where a run makes only that one."""
    return lambda made: made


def _begun(instance: dg.DagsterInstance, suite_id: str, key: dg.MultiPartitionKey, stage: ComparisonStage) -> Record:
    """Note what is current of the sources before the stage reads them; what is recorded of them meanwhile, it was not made from."""
    inputs = input_tags(instance, {asset_key(suite_id, read.ASSET): str(key) for read in READS})
    return partial(recorded_partition, key=key, code_version=stage.code_version, inputs=inputs)


def comparable_evaluation(
    instance: dg.DagsterInstance, asset: dg.AssetKey, manifest: ArtifactManifest, key: str
) -> dg.AssetCheckEvaluation:
    """Return what the check of a comparison found: failed with the sentences of why it is no answer, passed otherwise."""
    facts = comparison_facts_of(manifest)
    told = {"refused": facts.refusals, "falls_short": facts.shortfalls, "to_do": facts.advice}
    return dg.AssetCheckEvaluation(
        asset_key=asset,
        check_name=COMPARABLE,
        passed=facts.is_answer,
        metadata={"partition": key, **{name: dg.MetadataValue.json(list(sentences)) for name, sentences in told.items() if sentences}},
        target_materialization_data=checked_materialization(instance, asset, key),
        severity=dg.AssetCheckSeverity.ERROR,
        description=" ".join(sentence for sentences in told.values() for sentence in sentences)
        or f"Nothing was refused: {', '.join(facts.compared)} may be compared.",
        blocking=False,
        partition=key,
    )


def _specs(suite_id: str, stages: Sequence[ComparisonStage], *, mapping: dg.PartitionMapping | None = None) -> list[dg.AssetSpec]:
    return [
        suite_spec(suite_id, stage.module, description=stage.description, kinds=stage.kinds, reads=READS, mapping=mapping)
        for stage in stages
    ]


def _check_specs(suite_id: str, stages: Sequence[ComparisonStage], partitions: dg.PartitionsDefinition[str]) -> list[dg.AssetCheckSpec]:
    return [check_spec(COMPARABLE, asset_key(suite_id, stage.asset), description=_CHECK, partitions=partitions) for stage in stages]


def _same_cell_and_judge() -> dg.PartitionMapping:
    """Return the mapping of a plugin cell under a judge to itself among all cells.

    Dagster has no mapping of a key to itself and another one where keys are dynamic, so the plugin-free pair is left to `input_digests`.
    """
    same = dg.IdentityPartitionMapping()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        return dg.MultiPartitionMapping({name: dg.DimensionPartitionMapping(name, same) for name in (CELL, JUDGE)})
