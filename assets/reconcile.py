"""Telling Dagster what the object store holds: its truth is the manifests, and an event log can lose events, or never have had them.

Events are missing after a log was cut or restored, and of what `evalplatform arms run` made. What is reported here carries the tags that a
run would have written, so that staleness is judged as if one had, and says that no run did.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import dagster as dg

from assets.declared import asset_key
from assets.materialized import materialized
from assets.partitions import CELL, JUDGE
from assets.provenance import reported_tags
from evalplatform.artifacts.records import UNPARTITIONED, ArtifactId, ArtifactManifest
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages import arm_answers, corpus, question_set
from evalplatform.stages.comparison_stages import READS, suite_comparisons
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.score_stages import suite_stages

NOTE = "From the object store: Dagster knew of no materialization, and no run made one now."


@dataclass(frozen=True)
class ShownPartition:
    """A partition of the project file as Dagster and as the store know it.

    Attributes:
        asset: the asset.
        key: the partition key, or None where the asset has no partitions.
        artifact: the artifact in the store.
        reads: the names of the assets that Dagster draws it as made from; its manifest may name more.
        cell: whose it is, or None where it is of none, or of several.
        judge: under whom, or None.
    """

    asset: dg.AssetKey
    key: str | None
    artifact: ArtifactId
    reads: tuple[str, ...] = ()
    cell: Cell | None = None
    judge: JudgeCell | None = None


def unknown_materializations(instance: dg.DagsterInstance, suite: SuiteContext) -> Iterator[tuple[ShownPartition, ArtifactManifest]]:
    """Iterate over the current partitions that the store has and Dagster does not know as materialized, in the order of the data.

    What a stopped run left is not among them: Dagster never counted it as materialized either.

    Raises:
        StorageError: a manifest cannot be read.
    """
    stored = set(suite.catalog.list(suite=suite.suite_id))
    known: dict[dg.AssetKey, set[str | None]] = {}
    for shown in shown_partitions(suite):
        if shown.asset not in known:
            known[shown.asset] = _known_keys(instance, shown)
        if shown.artifact in stored and shown.key not in known[shown.asset]:
            manifest = suite.catalog.find_current(shown.artifact)
            if manifest is not None and not manifest.facts.get("truncated_message"):
                yield shown, manifest


def report_materialization(instance: dg.DagsterInstance, suite: SuiteContext, shown: ShownPartition, manifest: ArtifactManifest) -> None:
    """Report one stored partition as materialized, with its data version, what it was made from, and a note that no run made it now.

    Raises:
        StorageError: a file that the metadata shows rows of cannot be read.
    """
    made = materialized(suite, StageResult(manifest=manifest, unchanged=True))
    metadata = {"note": NOTE, "made_at": dg.MetadataValue.timestamp(manifest.created_at), **(made.metadata or {})}
    tags = reported_tags(instance, manifest, shown.key, upstream=_upstream_keys(manifest, shown.reads))
    instance.report_runless_asset_event(dg.AssetMaterialization(asset_key=shown.asset, partition=shown.key, metadata=metadata, tags=tags))


def shown_partitions(suite: SuiteContext) -> Iterator[ShownPartition]:
    """Iterate over every partition of a suite that the project file asks for, in the order of the data."""
    for source in (question_set, corpus):
        yield _shown(suite, source.ASSET, None, UNPARTITIONED)
    key: str
    cells = suite.project.cells_of(suite.suite_id)
    for cell in cells:
        yield _shown(suite, arm_answers.ASSET, cell.key, cell.key, reads=(question_set, corpus), cell=cell)
    for cell in cells:
        for judge in suite.project.judges_of(suite.suite_id):
            key = dg.MultiPartitionKey({CELL: cell.key, JUDGE: judge.key})
            for stage in suite_stages(suite.suite):
                yield _shown(suite, stage.asset, key, stage.partition(suite, cell, judge), reads=stage.reads, cell=cell, judge=judge)
    for comparison in suite_comparisons(suite):
        of, by = comparison.cell, comparison.judge.key
        key = by if of is None else dg.MultiPartitionKey({CELL: of.key, JUDGE: by})
        yield _shown(suite, comparison.stage.asset, key, comparison.partition, reads=READS, cell=of, judge=comparison.judge)


def _shown(
    suite: SuiteContext,
    asset: str,
    key: str | None,
    partition: str,
    *,
    reads: tuple[ModuleType, ...] = (),
    cell: Cell | None = None,
    judge: JudgeCell | None = None,
) -> ShownPartition:
    return ShownPartition(
        asset=asset_key(suite.suite_id, asset),
        key=key,
        artifact=suite.artifact(asset, partition),
        reads=tuple(str(stage.ASSET) for stage in reads),
        cell=cell,
        judge=judge,
    )


def _known_keys(instance: dg.DagsterInstance, shown: ShownPartition) -> set[str | None]:
    if shown.key is not None:
        return {*instance.get_materialized_partitions(shown.asset)}
    return set() if instance.get_latest_materialization_event(shown.asset) is None else {None}


def _upstream_keys(manifest: ArtifactManifest, reads: tuple[str, ...]) -> Mapping[dg.AssetKey, Sequence[tuple[str | None, str]]]:
    """Return what the artifact was made from: assets, each with the partition keys in Dagster and the data versions that were read.

    Where it is of a cell, Dagster knows the partitions of that cell alone: not the scores of an earlier judge, which moved its scores, nor
    those of the plugin-free cell that its plugins are measured against.
    """
    own = manifest.artifact.partition.split("/")
    upstream: dict[dg.AssetKey, list[tuple[str | None, str]]] = {}
    for read in manifest.lineage:
        keys = [] if read.artifact.partition == UNPARTITIONED else read.artifact.partition.split("/")
        if read.artifact.asset in reads and (len(own) == 1 or keys[:2] == own[: len(keys[:2])]):
            key = None if not keys else keys[0] if len(keys) == 1 else str(dg.MultiPartitionKey({CELL: keys[0], JUDGE: keys[1]}))
            upstream.setdefault(asset_key(read.artifact.suite, read.artifact.asset), []).append((key, read.data_version))
    return upstream
