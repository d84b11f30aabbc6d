"""The asset that takes runs out of old batches, with its daily schedule. It asks nothing, and changes what the batch store holds."""

from typing import Any

import dagster as dg

from assets.declared import OWNERS
from assets.runs_materialized import runs_key
from evalplatform.kernel.digests import data_version
from evalplatform.monitoring.retention import RetentionOutcome
from evalplatform.project.schema import RetentionSettings
from evalplatform.reports.markdown import markdown_table, markdown_text
from evalplatform.reports.retention_words import retention_table, rule_sentence, summary_sentence
from evalplatform.stages import recorded_batches
from evalplatform.stages.retention import retain_runs
from evalplatform.stages.runs_context import RUNS
from resources.project import ProjectResource

ASSET = "retain_runs"
CODE_VERSION = "1"
CRON = "45 4 * * *"
SHOWN_BATCHES = 25

_DESCRIPTION = (
    "Takes runs out of old batches, by `retention:` of the project file: first all but one a scenario, later all; and trajectories that no "
    "run names any more. **Cannot be undone.** Asks nothing.\n\n"
    "What a remembered gate or a night of the last 90 days names stays as it is, and what a schedule pins is kept. `evalplatform batches "
    "retain --dry-run` says beforehand what would go. What Dagster stored of a batch stays."
)


def retention_definitions(settings: RetentionSettings) -> dg.Definitions:
    """Return the asset, its job and its daily schedule, which runs from the start where the project file says when runs go."""

    @dg.asset(
        key=runs_key(ASSET),
        deps=[runs_key(recorded_batches.ASSET)],
        code_version=CODE_VERSION,
        description=_DESCRIPTION,
        group_name=RUNS,
        owners=OWNERS,
        kinds={"python"},
    )
    def retained(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened_project() as opened:
            actor = f"dagster run {context.run.run_id}"
            outcome = retain_runs(opened.runs_context(), opened.monitoring_store, actor=actor)
        version = data_version({state: str(number) for state, number in outcome.states.items()}, schema_version=CODE_VERSION)
        return dg.MaterializeResult(data_version=dg.DataVersion(version), metadata=_metadata(outcome))

    job = dg.define_asset_job(
        ASSET,
        selection=dg.AssetSelection.assets(runs_key(ASSET)),
        description="Take runs out of old batches, as the project file says. **Cannot be undone.**",
    )
    schedule = dg.ScheduleDefinition(
        name=ASSET,
        job=job,
        cron_schedule=CRON,
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING if settings.is_set else dg.DefaultScheduleStatus.STOPPED,
        description="Daily. It is off until the project file says when runs go, or somebody switches it on.",
    )
    return dg.Definitions(assets=[retained], jobs=[job], schedules=[schedule])


def _metadata(outcome: RetentionOutcome) -> dict[str, Any]:
    rule = markdown_text(rule_sentence(outcome.settings))
    table = retention_table(outcome, most_rows=SHOWN_BATCHES)
    return {
        "result": dg.MetadataValue.md(f"**{markdown_text(summary_sentence(outcome))}**\n\n{rule}"),
        **({} if table is None else {"preview": dg.MetadataValue.md(markdown_table(table))}),
        "batches_changed": len(outcome.changed),
        "batches_held": len(outcome.held),
        "runs_removed": sum(batch.removed_runs or 0 for batch in outcome.changed),
        "trajectories_removed": outcome.removed_trajectories or 0,
        **{str(state): number for state, number in outcome.states.items()},
    }
