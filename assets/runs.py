"""The assets of the agent side: batches and what is compared of them, by batch; unstable scenarios over many of them.

Batches come into the batch store by other ways than Dagster (`evalplatform push`), so `batches` is where the data begins. None of these
assets asks a model or runs an agent.
"""

from collections.abc import Collection, Iterator, Sequence
from types import ModuleType

import dagster as dg

from assets.batch_partitions import BATCH_PARTITIONS, BATCH_TAG
from assets.declared import OWNERS
from assets.run_checks import comparison_check, comparison_check_specs
from assets.runs_materialized import runs_key, runs_materialized
from evalplatform.stages import batch_comparisons, recorded_batches, scenario_sets, unstable_scenarios
from evalplatform.stages.runs_context import RUNS
from resources.project import ProjectResource

COMPARE_JOB = "compare_batches"
Recorded = dg.MaterializeResult[None] | dg.AssetCheckEvaluation

_SCENARIOS = (
    "The scenario file, checked and resolved: what an agent is asked, and what is checked of its runs. Asks nothing.\n\nUnpartitioned: a "
    "batch keeps the digest of the scenarios that it was recorded with."
)
_BATCHES = (
    "A recorded batch: whose it is, how its runs ended, and a table of them. Asks nothing.\n\nA partition is a batch of the batch store, "
    "by its id; `evalplatform push` adds one there, and the sensor `recorded_batches` registers it here."
)
_COMPARISONS = (
    "A batch beside the one recorded just before it: newly failing and passing scenarios, tool paths, violations, run sets. Computed from "
    "stored runs: asks nothing.\n\nA partition is the candidate batch. Dagster maps it to that batch; the baseline that is read beside it "
    "stands in the metadata, with why."
)
_UNSTABLE = (
    "Scenarios that came out differently in separate batches of one commit, over the last 30 days. Shown for context: it changes no "
    "verdict and no gate. Asks nothing."
)


def batch_definitions() -> dg.Definitions:
    """Return the assets over stored batches, and the job that compares one."""
    asset_keys = [runs_key(stage.ASSET) for stage in (recorded_batches, batch_comparisons)]
    return dg.Definitions(
        assets=[_batches_node(), _unstable_asset()],
        jobs=[
            dg.define_asset_job(
                COMPARE_JOB,
                selection=dg.AssetSelection.assets(*asset_keys),
                description="Take up one stored batch and compare it with the one before it. Asks no model.",
            )
        ],
    )


def scenario_definitions() -> dg.Definitions:
    """Return the asset of the project's scenario file."""

    @dg.multi_asset(
        name=f"{RUNS}__{scenario_sets.ASSET}", specs=[runs_spec(scenario_sets, description=_SCENARIOS, kinds={"python", "json"})]
    )
    def scenario_set(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened_runs() as runs:
            return runs_materialized(runs, scenario_sets.materialize_scenario_set(runs))

    return dg.Definitions(assets=[scenario_set])


def _batches_node() -> dg.AssetsDefinition:
    compared = runs_key(batch_comparisons.ASSET)

    @dg.multi_asset(
        name=f"{RUNS}__batches",
        specs=[
            runs_spec(recorded_batches, description=_BATCHES, kinds={"python", "parquet"}),
            runs_spec(batch_comparisons, description=_COMPARISONS, kinds={"python", "html"}, reads=[recorded_batches]),
        ],
        check_specs=comparison_check_specs(compared),
        can_subset=True,
        partitions_def=BATCH_PARTITIONS,
    )
    def batches(context: dg.AssetExecutionContext, project: ProjectResource) -> Iterator[Recorded]:
        batch_id = context.partition_key
        context.instance.add_run_tags(context.run.run_id, {BATCH_TAG: batch_id})
        with project.opened_runs() as runs:
            if runs_key(recorded_batches.ASSET) in context.selected_asset_keys:
                yield runs_materialized(runs, recorded_batches.materialize_batch(runs, batch_id))
            manifest = None
            if compared in context.selected_asset_keys:
                result = batch_comparisons.materialize_batch_comparison(runs, batch_id)
                manifest = result.manifest
                yield runs_materialized(runs, result)
            for check in context.selected_asset_check_keys:  # they can be made again without the comparison
                manifest = manifest or runs.upstream(batch_comparisons.ASSET, batch_id)
                yield comparison_check(context.instance, check, manifest, batch_id)

    return batches


def _unstable_asset() -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=f"{RUNS}__{unstable_scenarios.ASSET}",
        specs=[runs_spec(unstable_scenarios, description=_UNSTABLE, kinds={"python", "html"}, reads=[recorded_batches])],
    )
    def unstable(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened_runs() as runs:
            return runs_materialized(runs, unstable_scenarios.materialize_unstable_scenarios(runs))

    return unstable


def runs_spec(stage: ModuleType, *, description: str, kinds: Collection[str], reads: Sequence[ModuleType] = ()) -> dg.AssetSpec:
    """Return the declaration of a stage of the agent side as an asset."""
    return dg.AssetSpec(
        key=runs_key(stage.ASSET),
        code_version=stage.CODE_VERSION,
        description=description,
        group_name=RUNS,
        owners=OWNERS,
        kinds=set(kinds),
        deps=[runs_key(read.ASSET) for read in reads],
        skippable=stage in (recorded_batches, batch_comparisons),
    )
