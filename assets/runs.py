"""The assets of the agent side: batches and what is compared of them, by batch; unstable scenarios over many of them.

Batches come into the batch store by other ways than Dagster (`evalplatform push`), so `batches` is where the data begins. None of these
assets asks a model or runs an agent.
"""

from collections.abc import Collection, Iterator, Sequence
from types import ModuleType

import dagster as dg
from pydantic import Field

from assets.batch_partitions import BATCH_PARTITIONS, BATCH_TAG
from assets.declared import OWNERS
from assets.run_checks import GATE, comparison_check, comparison_check_specs, gate_check, gate_check_spec
from assets.runs_materialized import runs_key, runs_materialized
from evalplatform.stages import (
    batch_comparisons,
    gate_decisions,
    gate_plan,
    gate_readiness,
    recorded_batches,
    scenario_sets,
    unstable_scenarios,
)
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
_DECISIONS = (
    "Whether a batch fails its gate: single scenarios by tier, then the suite; with a certificate that `evalplatform gate verify` checks. "
    "Against what the last remembered gate of the batch compared it with, else the batch before it. Asks nothing and remembers nothing.\n\n"
    "A partition is the candidate batch."
)
_READINESS = (
    "What the gate of a branch can catch: on how many scenarios the target drop, for how many runs, and what other targets would take. "
    "Computed from the branch's remembered gates: asks nothing."
)
_PLAN = (
    "How often each live scenario has to run in the next gate of a branch, by its history and the gate policy in force. Asks nothing; "
    "`run_scenarios` follows it where `baseline_branch` is set."
)
_UNSTABLE = (
    "Scenarios that came out differently in separate batches of one commit, over the last 30 days. Shown for context: it changes no "
    "verdict and no gate. Asks nothing."
)


def batch_definitions() -> dg.Definitions:
    """Return the assets over stored batches, and the job that compares one."""
    asset_keys = [runs_key(stage.ASSET) for stage in (recorded_batches, batch_comparisons, gate_decisions)]
    return dg.Definitions(
        assets=[_batches_node(), _unstable_asset(), _readiness_asset(), _plan_asset()],
        jobs=[
            dg.define_asset_job(
                COMPARE_JOB,
                selection=dg.AssetSelection.assets(*asset_keys),
                description="Take up one stored batch, compare it with its baseline and decide its gate. Asks no model.",
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
            runs_spec(gate_decisions, description=_DECISIONS, kinds={"python", "html"}, reads=[batch_comparisons]),
        ],
        check_specs=[*comparison_check_specs(compared), gate_check_spec(compared)],
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
            decided = None
            if runs_key(gate_decisions.ASSET) in context.selected_asset_keys:
                result = gate_decisions.materialize_gate_decision(runs, batch_id)
                decided = result.manifest
                yield runs_materialized(runs, result)
            # They can be made again without the comparison. The gate's comes last: it blocks, and everything is stored by then.
            for check in sorted(context.selected_asset_check_keys, key=lambda check: check.name == GATE):
                if check.name == GATE:
                    decided = decided or gate_decisions.materialize_gate_decision(runs, batch_id).manifest
                    yield gate_check(context.instance, check, decided, batch_id)
                    continue
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


class GateConfig(dg.Config):
    """Whose history is spoken of."""

    branch: str = Field(default="main", min_length=1, description="The branch whose remembered gates hold the history.")


def _readiness_asset() -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=f"{RUNS}__{gate_readiness.ASSET}",
        specs=[runs_spec(gate_readiness, description=_READINESS, kinds={"python", "html"}, reads=[gate_decisions])],
    )
    def readiness(context: dg.AssetExecutionContext, config: GateConfig, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened_project() as opened:
            runs = opened.runs_context()
            result = gate_readiness.materialize_gate_readiness(runs, opened.label_store, branch=config.branch)
            return runs_materialized(runs, result)

    return readiness


def _plan_asset() -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=f"{RUNS}__{gate_plan.ASSET}",
        specs=[runs_spec(gate_plan, description=_PLAN, kinds={"python", "html"}, reads=[gate_decisions])],
    )
    def run_plan(context: dg.AssetExecutionContext, config: GateConfig, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened_runs() as runs:
            return runs_materialized(runs, gate_plan.materialize_run_plan(runs, config.branch))

    return run_plan


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
        skippable=stage in (recorded_batches, batch_comparisons, gate_decisions),
    )
