"""The assets over many nights: the drift history and what stands. They are computed from stored nights and ask nobody."""

import dagster as dg

from assets.declared import OWNERS
from assets.monitoring_materialized import monitoring_key, monitoring_materialized
from evalplatform.stages import drift_history
from evalplatform.stages.monitoring_context import MONITORING
from evalplatform.stages.night_reports import MONITOR_ASSET, SENTINEL_ASSET
from resources.project import ProjectResource

HISTORY_KEY = monitoring_key(drift_history.ASSET)
STANDINGS_KEY = monitoring_key(drift_history.STANDINGS_ASSET)

_HISTORY = (
    "What the nights of the last 90 days say of each scenario, and how often they alarmed beside how often chance alone would. "
    "Computed from stored nights: asks nothing.\n\nThe sensor `drift_history` has it made when a night has ended."
)
_STANDINGS = (
    "What stands in each stream of nights: the state of its last night, since when, and what was last checked behind a failed check. "
    "Computed from stored nights: asks nothing."
)

HISTORY_JOB = dg.define_asset_job(
    "drift_history",
    selection=dg.AssetSelection.assets(HISTORY_KEY, STANDINGS_KEY),
    description="Say anew what the nights say together, and what stands. Asks nothing.",
)


def history_definitions() -> dg.Definitions:
    """Return the assets over many nights, and their job."""

    @dg.multi_asset(name=f"{MONITORING}__{drift_history.ASSET}", specs=[_spec(HISTORY_KEY, _HISTORY)])
    def history(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened_project() as opened:
            monitoring = opened.monitoring_context()
            return monitoring_materialized(monitoring, drift_history.materialize_drift_history(monitoring))

    @dg.multi_asset(name=f"{MONITORING}__{drift_history.STANDINGS_ASSET}", specs=[_spec(STANDINGS_KEY, _STANDINGS)])
    def standings(context: dg.AssetExecutionContext, project: ProjectResource) -> dg.MaterializeResult[None]:
        with project.opened_project() as opened:
            monitoring = opened.monitoring_context()
            return monitoring_materialized(monitoring, drift_history.materialize_standings(monitoring))

    return dg.Definitions(assets=[history, standings], jobs=[HISTORY_JOB])


def _spec(key: dg.AssetKey, description: str) -> dg.AssetSpec:
    return dg.AssetSpec(
        key=key,
        code_version=drift_history.CODE_VERSION,
        description=description,
        group_name=MONITORING,
        owners=OWNERS,
        kinds={"python", "html"},
        deps=[monitoring_key(SENTINEL_ASSET), monitoring_key(MONITOR_ASSET)],
    )
