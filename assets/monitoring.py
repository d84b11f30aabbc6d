"""The assets of monitoring: nights of schedules by night, the sentinel's by local day.

Running a night asks an agent, so nothing here is materialized by the way: a night is asked for by the sensor `monitoring`, the sentinel's
by `sentinel_schedule`, or by a person. A night that has ended is never run again; materializing it stores its report anew.
"""

import asyncio
import os
from collections.abc import Iterator
from datetime import timedelta

import dagster as dg

from assets.declared import OWNERS
from assets.monitoring_materialized import monitoring_key, monitoring_materialized
from assets.monitoring_partitions import (
    ATTEMPT_TAG,
    NIGHT_TAG,
    NIGHTS,
    SENTINEL_DAYS,
    day_of_partition,
    night_of_partition,
)
from assets.night_checks import ON_TIME, ON_TIME_WORDS, night_check_specs, night_checks, on_time_result
from assets.night_runs import switched_on_at
from assets.unfinished import PARTITION_TAG, UNFINISHED_RUNS
from evalplatform.adapters.run_origin import run_origin
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.kernel.errors import InputError
from evalplatform.runs.night import Night
from evalplatform.stages import night_reports
from evalplatform.stages.late_nights import late_schedules, late_sentinel
from evalplatform.stages.monitor_night import run_monitor_night
from evalplatform.stages.monitoring_context import MONITORING, MonitoringContext
from evalplatform.stages.night_reports import MONITOR_ASSET, SENTINEL_ASSET, materialize_night
from evalplatform.stages.sentinel_days import run_sentinel_day
from resources.project import ProjectResource

Recorded = dg.MaterializeResult[None] | dg.AssetCheckEvaluation
NIGHT_RUN_TAGS = {"dagster/max_retries": "0"}
"""A night whose run died is asked for by its sensor, under a new attempt. Dagster's own retry would be a second one of the same."""

_SENTINEL = (
    "One night of the scenario file: recordings beside live runs of the agent. **Asks the agent**; `sentinel.max_cost_usd` of the project "
    "file caps what it spends.\n\n"
    "A partition is a day on the clock of `sentinel.timezone`. It can be made on that day alone, until the next check is due. "
    "`sentinel_schedule` asks for it; it is stopped until you start it."
)
_MONITORING = (
    "One night of a schedule of `evalplatform monitor`: pinned runs graded again, then the agent asked at its endpoint. **Asks the agent.**"
    "\n\nA partition is a night, `STREAM.SLOT`. The sensor `monitoring` asks for it when its slot is due, and records missed ones."
)
_SENTINEL_JOB = "Run the sentinel's night of a day. **Asks the agent.**"
_MONITORING_JOB = "Run one night of a schedule. **Asks the agent.**"

SENTINEL_JOB = dg.define_asset_job(
    "sentinel_night",
    selection=dg.AssetSelection.assets(monitoring_key(SENTINEL_ASSET)),
    description=_SENTINEL_JOB,
    tags=NIGHT_RUN_TAGS,
)
MONITORING_JOB = dg.define_asset_job(
    "monitoring_night",
    selection=dg.AssetSelection.assets(monitoring_key(MONITOR_ASSET)),
    description=_MONITORING_JOB,
    tags=NIGHT_RUN_TAGS,
)


def monitoring_definitions() -> dg.Definitions:
    """Return the assets of monitoring and their jobs."""
    return dg.Definitions(
        assets=[_sentinel_asset(), _monitoring_asset()],
        asset_checks=[_on_time_check(asset) for asset in (SENTINEL_ASSET, MONITOR_ASSET)],
        jobs=[SENTINEL_JOB, MONITORING_JOB],
    )


def late_results(instance: dg.DagsterInstance, context: MonitoringContext) -> list[dg.AssetCheckEvaluation]:
    """Return what the checks of whether nights are on time find now, the sentinel's first. Raises StorageUnavailableError."""
    return [_on_time(instance, context, asset) for asset in (SENTINEL_ASSET, MONITOR_ASSET)]


def night_spec(asset: str, *, description: str) -> dg.AssetSpec:
    """Return the declaration of an asset of nights. It reads no asset: an edit of the scenario file makes no night of the past stale."""
    return dg.AssetSpec(
        key=monitoring_key(asset),
        code_version=night_reports.CODE_VERSION,
        description=description,
        group_name=MONITORING,
        owners=OWNERS,
        kinds={"python", "html"},
        skippable=True,
    )


def _sentinel_asset() -> dg.AssetsDefinition:
    key = monitoring_key(SENTINEL_ASSET)

    @dg.multi_asset(
        name=f"{MONITORING}__{SENTINEL_ASSET}",
        specs=[night_spec(SENTINEL_ASSET, description=_SENTINEL)],
        check_specs=night_check_specs(key, SENTINEL_DAYS),
        can_subset=True,
        partitions_def=SENTINEL_DAYS,
    )
    def sentinel_nights(context: dg.AssetExecutionContext, project: ProjectResource) -> Iterator[Recorded]:
        day = day_of_partition(context.partition_key)
        with project.opened_project() as opened:
            monitoring = opened.monitoring_context()
            if key not in context.selected_asset_keys:
                yield from _checks(context, key, _stored(monitoring, SENTINEL_ASSET, context.partition_key))
                return
            origin = run_origin(opened.project.root, environ=os.environ, commit=None, branch=None)
            ran = run_sentinel_day(monitoring, day, commit=origin.commit, actor=_actor(context), on_progress=project.on_progress(context))
            yield from _recorded(context, monitoring, asyncio.run(ran))

    return sentinel_nights


def _monitoring_asset() -> dg.AssetsDefinition:
    key = monitoring_key(MONITOR_ASSET)

    @dg.multi_asset(
        name=f"{MONITORING}__{MONITOR_ASSET}",
        specs=[night_spec(MONITOR_ASSET, description=_MONITORING)],
        check_specs=night_check_specs(key, NIGHTS),
        can_subset=True,
        partitions_def=NIGHTS,
    )
    def monitoring_nights(context: dg.AssetExecutionContext, project: ProjectResource) -> Iterator[Recorded]:
        stream, slot = night_of_partition(context.partition_key)
        with project.opened_project() as opened:
            monitoring = opened.monitoring_context()
            if key not in context.selected_asset_keys:
                yield from _checks(context, key, _stored(monitoring, MONITOR_ASSET, context.partition_key))
                return
            night = monitoring.store.night(context.partition_key)
            if night is None or night.state == "pending":
                attempt = _attempt(context, night)
                ran = run_monitor_night(
                    monitoring, stream, slot, attempt=attempt, actor=_actor(context), on_progress=project.on_progress(context)
                )
                night = asyncio.run(ran)
            yield from _recorded(context, monitoring, night)

    return monitoring_nights


def _on_time_check(asset: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=monitoring_key(asset), name=ON_TIME, description=ON_TIME_WORDS)
    def on_time(context: dg.AssetCheckExecutionContext, project: ProjectResource) -> dg.AssetCheckResult:
        with project.opened_project() as opened:
            found = _on_time(context.instance, opened.monitoring_context(), asset)
        return dg.AssetCheckResult(passed=found.passed, description=found.description, metadata=found.metadata, severity=found.severity)

    return on_time


def _on_time(instance: dg.DagsterInstance, context: MonitoringContext, asset: str) -> dg.AssetCheckEvaluation:
    key = monitoring_key(asset)
    if asset == MONITOR_ASSET:
        return on_time_result(key, late_schedules(context), watched="Every schedule that is on has the nights that were due.")
    since = switched_on_at(instance)
    if since is None:
        return on_time_result(key, (), watched="The sentinel's schedule is stopped: no night is due.")
    offset = timedelta(seconds=context.project.deployment.clock_offset_seconds)
    return on_time_result(key, late_sentinel(context, since=since + offset), watched="The sentinel has the nights that were due.")


def _recorded(context: dg.AssetExecutionContext, monitoring: MonitoringContext, night: Night) -> Iterator[Recorded]:
    """Yield what Dagster is told of a night that has ended.

    Raises:
        dagster.Failure: it has not: another attempt has taken it over, and tells of it when it is through.
    """
    if night.state == "pending":
        raise dg.Failure(description=f"attempt {night.attempt} is at the night {night.key}; this run is not.", allow_retries=False)
    context.instance.add_run_tags(context.run.run_id, {NIGHT_TAG: night.key})
    result = materialize_night(monitoring, night)
    yield monitoring_materialized(monitoring, result)
    yield from _checks(context, monitoring_key(result.manifest.artifact.asset), result.manifest)


def _checks(context: dg.AssetExecutionContext, asset: dg.AssetKey, manifest: ArtifactManifest) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield what the checks find that are asked for; they can be made again without the night."""
    asked = {check.name for check in context.selected_asset_check_keys}
    found = night_checks(context.instance, asset, manifest, context.partition_key)
    return (check for check in found if check.check_name in asked)


def _stored(monitoring: MonitoringContext, asset: str, partition: str) -> ArtifactManifest:
    manifest = monitoring.catalog.current(monitoring.artifact(asset, partition))
    if manifest is None:
        raise InputError(f"there is no {asset} of {partition} yet; materialize it first.", field="partition")
    return manifest


def _attempt(context: dg.AssetExecutionContext, pending: Night | None) -> int:
    """Return which attempt a run is: the one that it was asked for as, or, where a person starts it, the next.

    Raises:
        dagster.Failure: a person starts it, and another run is at the night.
    """
    asked = context.run.tags.get(ATTEMPT_TAG)
    if asked is not None and context.run.parent_run_id is None:
        return int(asked)
    if pending is None:
        return 1
    runs = context.instance.get_runs(dg.RunsFilter(tags={PARTITION_TAG: context.partition_key}, statuses=UNFINISHED_RUNS))
    if any(run.run_id != context.run.run_id for run in runs):
        raise dg.Failure(description=f"another run is at the night {pending.key}.", allow_retries=False)
    return pending.attempt + 1


def _actor(context: dg.AssetExecutionContext) -> str:
    return f"dagster run {context.run.run_id}"
