"""Telling Dagster what the nights are that it has no materialization of: missed slots, the sentinel's own nights, and lost events."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

import dagster as dg

from assets.monitoring_materialized import monitoring_key, monitoring_metadata
from assets.monitoring_partitions import partition_of, partitions_of, register
from assets.night_checks import night_checks
from assets.night_runs import NightRuns
from assets.provenance import reported_tags
from assets.reconcile import NOTE
from evalplatform.runs.night import Night
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_reports import MONITOR_ASSET, SENTINEL_ASSET, materialize_night

RECENT = timedelta(days=8)
"""A night is run while its slot is the latest of its schedule: a week at most."""
MAX_RECENT = 200


def recent_nights(context: MonitoringContext) -> Iterator[Night]:
    """Iterate over the nights that may have changed since a look at them, newest slot first: a bounded number of them."""
    return context.store.nights(since=context.clock.now() - RECENT, limit=MAX_RECENT)


def unreported_nights(instance: dg.DagsterInstance, nights: Iterable[Night], runs: NightRuns) -> Iterator[Night]:
    """Iterate over the nights that have ended and that Dagster knows no materialization of, each partition once.

    A night whose run is going on is left to it: it tells of the night itself.
    """
    known = {asset: set(instance.get_materialized_partitions(monitoring_key(asset))) for asset in (SENTINEL_ASSET, MONITOR_ASSET)}
    for night in nights:
        of_asset, partition = known[_asset_of(night)], partition_of(night)
        if night.state != "pending" and partition not in of_asset and not runs.is_asked_for(partition):
            of_asset.add(partition)
            yield night


def report_night(instance: dg.DagsterInstance, context: MonitoringContext, night: Night) -> Sequence[dg.AssetCheckEvaluation]:
    """Report a night that no run of Dagster's told of as materialized, with a note that says so, then its checks, which are returned.

    Raises:
        StorageError: the night's report cannot be written.
    """
    result = materialize_night(context, night)
    manifest = result.manifest
    asset, partition = monitoring_key(manifest.artifact.asset), partition_of(night)
    made_at = dg.MetadataValue.timestamp(manifest.created_at)
    metadata = {"note": NOTE, "made_at": made_at, **monitoring_metadata(context, result)}
    tags = reported_tags(instance, manifest, partition, upstream={})
    register(instance, partitions_of(night), [partition])
    instance.report_runless_asset_event(dg.AssetMaterialization(asset_key=asset, partition=partition, metadata=metadata, tags=tags))
    results = tuple(night_checks(instance, asset, manifest, partition))
    for check in results:
        instance.report_runless_asset_event(check)
    return results


def _asset_of(night: Night) -> str:
    return SENTINEL_ASSET if night.source == "sentinel" else MONITOR_ASSET
