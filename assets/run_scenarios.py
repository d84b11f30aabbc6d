"""The asset that runs scenarios: it asks the agent, grades every run, and stores the batch. Everything else only reads what it leaves."""

import asyncio
import os
from functools import partial
from typing import Any

import dagster as dg
from pydantic import Field

from assets.batch_partitions import BATCH_TAG
from assets.declared import OWNERS
from assets.runs_materialized import runs_key
from evalplatform.adapters.run_origin import moved_since, run_origin
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.text import plural
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.reports.markdown import markdown_text
from evalplatform.runs.records import MAX_RUNS_PER_SCENARIO, Batch
from evalplatform.stages import scenario_sets
from evalplatform.stages.gate_plan import branch_plan
from evalplatform.stages.open_bundles import FOLDER
from evalplatform.stages.push import push_bundle
from evalplatform.stages.run_batch import BatchRequest, RanBatch, run_batch
from evalplatform.stages.runs_context import RUNS, RunsContext
from evalplatform.wiring import OpenedProject
from resources.project import ProjectResource

ASSET = "run_scenarios"
CODE_VERSION = "1"

_DESCRIPTION = (
    "Runs the scenarios, grades every run, and stores them as a batch. **Asks the agent**, and so may spend money: `max_cost_usd` caps "
    "it.\n\n"
    "It runs under the gate policy that the platform holds, where it holds one.\n\n"
    "A run that was stopped is gone on with by the next one, where a commit is recorded. The batch's partition and its "
    "comparison follow by the sensor "
    "`recorded_batches`."
)


class RunScenariosConfig(dg.Config):
    """What one batch is asked for; what is left out is as the scenario file and the checkout say."""

    runs: int | None = Field(default=None, ge=1, le=MAX_RUNS_PER_SCENARIO, description="How often each live scenario runs.")
    baseline_branch: str | None = Field(
        default=None, description="Follow the run plan of this branch's history: each live scenario runs as often as its target drop takes."
    )
    scenarios: list[str] = Field(default=[], description="Only these, by id; empty for all.")
    max_cost_usd: float | None = Field(
        default=None, ge=0, description="Start no run that could pass this; the first runs alone, its cost being unknown."
    )
    commit: str | None = Field(default=None, description="The commit that is evaluated.")
    branch: str | None = Field(default=None, description="The branch that is evaluated.")


def run_scenarios_definitions() -> dg.Definitions:
    """Return the asset, and the job that checks the scenario file and then runs it."""

    @dg.asset(
        key=runs_key(ASSET),
        deps=[runs_key(scenario_sets.ASSET)],
        code_version=CODE_VERSION,
        description=_DESCRIPTION,
        group_name=RUNS,
        owners=OWNERS,
        kinds={"python"},
    )
    def run_scenarios(
        context: dg.AssetExecutionContext, config: RunScenariosConfig, project: ProjectResource
    ) -> dg.MaterializeResult[None]:
        with project.opened_project() as opened:
            done = asyncio.run(run_batch(_request(opened, config), opened, on_progress=project.on_progress(context)))
            if not done.bundle.batch.graded_runs:
                raise dg.Failure(description=_ungraded_sentence(done))
            if done.recorded.truncated_reason is not None:
                context.log.warning(f"The batch is truncated: {done.recorded.truncated_reason}")
            batch = _pushed(opened, done, actor=f"dagster run {context.run.run_id}")
            context.instance.add_run_tags(context.run.run_id, {BATCH_TAG: batch.id})
            return dg.MaterializeResult(
                data_version=dg.DataVersion(batch.content_digest.removeprefix("sha256:")[:16]), metadata=_metadata(done, batch)
            )

    job = dg.define_asset_job(
        ASSET,
        selection=dg.AssetSelection.assets(runs_key(scenario_sets.ASSET), runs_key(ASSET)),
        description="Check the scenario file, run its scenarios, and store the batch. **Asks the agent.**",
    )
    return dg.Definitions(assets=[run_scenarios], jobs=[job])


def _request(opened: OpenedProject, config: RunScenariosConfig) -> BatchRequest:
    project = opened.project
    origin = run_origin(project.root, environ=os.environ, commit=config.commit, branch=config.branch)
    runs_context = opened.runs_context()
    scenario_set, planned_runs = _planned(runs_context, config)
    return BatchRequest(
        scenario_set=scenario_set,
        planned_runs=planned_runs,
        bundles_folder=project.state_folder / FOLDER,
        only=tuple(config.scenarios),
        runs=config.runs,
        max_cost_usd=config.max_cost_usd,
        commit=origin.commit,
        branch=origin.branch,
        ci_event=origin.ci_event,
        flaw_at_end=partial(moved_since, origin, project.root),
    )


def _planned(context: RunsContext, config: RunScenariosConfig) -> tuple[ScenarioSet, dict[str, int] | None]:
    """Return the scenarios under the held gate policy, where one is held, and the run plan, where one is asked for.

    Raises:
        InputError: a plan and a number of runs are asked for, or there is no gate policy to plan by.
    """
    scenario_set = scenario_sets.current_scenarios(context)
    stored = context.gates.policy()
    if stored is not None:
        scenario_set = scenario_set.under_policy(stored.policy)
    if config.baseline_branch is None:
        return scenario_set, None
    if config.runs is not None:
        raise InputError("asks for a run plan, and `runs` for a number of runs: leave one out.", field="baseline_branch")
    if scenario_set.policy is None:
        raise InputError("asks for a run plan, and there is no gate policy to plan by.", field="baseline_branch")
    plan = branch_plan(context, config.baseline_branch, scenario_set.live_tiers, scenario_set.policy).plan
    return scenario_set, plan.runs_by_scenario


def _pushed(opened: OpenedProject, done: RanBatch, *, actor: str) -> Batch:
    settings = opened.project.settings
    return push_bundle(
        done.path,
        project=settings.project,
        tenant=settings.tenant,
        batches=opened.batch_store,
        store=opened.store,
        actor=actor,
        now=opened.clock.now(),
    ).batch


def _ungraded_sentence(done: RanBatch) -> str:
    reasons = (run.reason for run in done.bundle.runs if run.reason is not None)
    why = (next(reasons, None) or done.recorded.truncated_reason or "No reason is known").rstrip(".")
    return f"No run could be graded, so that nothing was stored. {why}. The runs lie in {done.path}."


def _metadata(done: RanBatch, batch: Batch) -> dict[str, Any]:
    costs = [run.cost_usd for run in done.bundle.runs if run.cost_usd is not None]
    passed = f"{batch.passed_runs:,} of {plural(batch.graded_runs, 'graded run')} passed."
    return {
        "result": dg.MetadataValue.md(markdown_text(passed)),
        "batch": batch.id,
        **({} if batch.truncated_reason is None else {"truncated": batch.truncated_reason}),
        "runs": batch.run_count,
        "graded": batch.graded_runs,
        "passed": batch.passed_runs,
        "made_now": done.recorded.made,
        "kept_from_before": done.recorded.kept,
        **({"cost_usd": sum(costs)} if costs else {}),
        "scanned_for_violations": f"{batch.coverage.scanned_runs:,} of {batch.coverage.runs:,} runs with steps",
        **({} if batch.header.commit is None else {"commit": batch.header.commit}),
        "bundle": dg.MetadataValue.path(str(done.path)),
        "show": f"evalplatform batches show {batch.id}",
    }
