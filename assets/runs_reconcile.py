"""Telling Dagster what the object store holds of the agent side, as `reconcile` and `reported_checks` do of suites."""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.batch_partitions import registered_batches
from assets.provenance import reported_tags
from assets.reconcile import NOTE
from assets.run_checks import CHECKS, GATE, comparison_check, gate_check
from assets.runs_materialized import runs_key, runs_materialized
from evalplatform.artifacts.records import UNPARTITIONED, ArtifactId, ArtifactManifest
from evalplatform.stages import (
    batch_comparisons,
    gate_decisions,
    gate_plan,
    gate_readiness,
    recorded_batches,
    scenario_sets,
    unstable_scenarios,
)
from evalplatform.stages.context import StageResult
from evalplatform.stages.runs_context import RUNS, RunsContext

REPORTED = (scenario_sets, recorded_batches, batch_comparisons, gate_decisions, gate_plan, gate_readiness, unstable_scenarios)
"""What is reported, in the order of the data."""


def unknown_batch_artifacts(instance: dg.DagsterInstance, context: RunsContext) -> Iterator[ArtifactManifest]:
    """Iterate over the current artifacts that the store has and Dagster does not know as materialized, of partitions that it knows.

    Raises:
        StorageError: a manifest cannot be read.
    """
    registered = registered_batches(instance)
    for stage in REPORTED:
        known: set[str] | None = None
        for artifact in context.catalog.list(suite=RUNS, asset=stage.ASSET):
            known = _known_partitions(instance, stage.ASSET) if known is None else known
            is_shown = artifact.partition == UNPARTITIONED or artifact.partition in registered
            manifest = context.catalog.find_current(artifact) if is_shown and artifact.partition not in known else None
            if manifest is not None:
                yield manifest


def report_batch_artifact(
    instance: dg.DagsterInstance, context: RunsContext, manifest: ArtifactManifest
) -> Sequence[dg.AssetCheckEvaluation]:
    """Report one stored artifact as materialized, with a note that no run made it now, then its checks, which are returned."""
    asset, partition = runs_key(manifest.artifact.asset), manifest.artifact.partition
    key = None if partition == UNPARTITIONED else partition
    made = runs_materialized(context, StageResult(manifest=manifest, unchanged=True))
    metadata = {"note": NOTE, "made_at": dg.MetadataValue.timestamp(manifest.created_at), **(made.metadata or {})}
    tags = reported_tags(instance, manifest, key, upstream=_upstream(context, manifest.artifact))
    instance.report_runless_asset_event(dg.AssetMaterialization(asset_key=asset, partition=key, metadata=metadata, tags=tags))
    results = _checks(instance, manifest, partition)
    for result in results:
        instance.report_runless_asset_event(result)
    return results


def _checks(instance: dg.DagsterInstance, manifest: ArtifactManifest, partition: str) -> list[dg.AssetCheckEvaluation]:
    """Return the checks that an artifact is of; a gate's decision stands as a check of the comparison that it was made of."""
    compared = runs_key(batch_comparisons.ASSET)
    if manifest.artifact.asset == batch_comparisons.ASSET:
        return [comparison_check(instance, dg.AssetCheckKey(compared, name), manifest, partition) for name in CHECKS]
    if manifest.artifact.asset == gate_decisions.ASSET:
        return [gate_check(instance, dg.AssetCheckKey(compared, GATE), manifest, partition)]
    return []


def _known_partitions(instance: dg.DagsterInstance, asset: str) -> set[str]:
    known = set(instance.get_materialized_partitions(runs_key(asset)))
    return known or (set() if instance.get_latest_materialization_event(runs_key(asset)) is None else {UNPARTITIONED})


def _upstream(context: RunsContext, artifact: ArtifactId) -> dict[dg.AssetKey, list[tuple[str | None, str]]]:
    """Return what Dagster draws an artifact as made from: a comparison from the candidate's batch, a gate's decision from that."""
    read_asset = {batch_comparisons.ASSET: recorded_batches.ASSET, gate_decisions.ASSET: batch_comparisons.ASSET}.get(artifact.asset)
    if read_asset is None:
        return {}
    read = context.catalog.find_current(context.artifact(read_asset, artifact.partition))
    return {} if read is None else {runs_key(read_asset): [(artifact.partition, read.data_version)]}
