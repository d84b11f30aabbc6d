"""Which artifacts belong to the reports bundle of a partition, and their files."""

from collections.abc import Sequence

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.reports.bundle import BundledArtifact, bundle_zip
from evalplatform.stages import arm_summary, judged_scores, plugin_deltas, score_moves, verdicts

READABLE_ENDINGS = ("csv", "html", "json", "md")


def bundled_manifests(catalog: ArtifactCatalog, report: ArtifactManifest) -> tuple[ArtifactManifest, ...]:
    """Return the report's manifest, and those of the moves of its scores, the verdicts that it read, and its cell's plugin delta.

    Each is there where there is one of the same scores.

    Raises:
        StorageError: the store does not answer, or a manifest is unreadable.
    """
    companions = (_moves(catalog, report), _verdicts(catalog, report), _plugin_delta(catalog, report))
    return (report, *(companion for companion in companions if companion is not None))


def reports_bundle(catalog: ArtifactCatalog, manifests: Sequence[ArtifactManifest]) -> bytes:
    """Return the zip of the artifacts that `bundled_manifests` gave: what a person reads of them, and no tables for programs alone.

    Raises:
        StorageError: a file cannot be read, or is not what was written.
    """
    return bundle_zip(
        [
            BundledArtifact(
                manifest=manifest,
                files={name: catalog.read(manifest, name) for name in manifest.files if name.rpartition(".")[2] in READABLE_ENDINGS},
            )
            for manifest in manifests
        ]
    )


def _verdicts(catalog: ArtifactCatalog, report: ArtifactManifest) -> ArtifactManifest | None:
    """Return the verdicts that the report tells of; each threshold keeps its own in a partition of its own."""
    read = next((upstream for upstream in report.lineage if upstream.artifact.asset == verdicts.ASSET), None)
    return None if read is None else catalog.version(read.artifact, read.data_version)


def _moves(catalog: ArtifactCatalog, report: ArtifactManifest) -> ArtifactManifest | None:
    """Return the current moves to the report's scores, else the newest; those from its scores to later ones are another report's."""
    scores = report.inputs.get(judged_scores.ASSET)
    if scores is None:
        return None
    artifact = report.artifact.with_changes(asset=score_moves.ASSET)
    current = catalog.find_current(artifact)
    if current is None or current.inputs[judged_scores.ASSET] == scores:
        return current
    return next((one for one in reversed(catalog.versions(artifact)) if one.inputs[judged_scores.ASSET] == scores), None)


def _plugin_delta(catalog: ArtifactCatalog, report: ArtifactManifest) -> ArtifactManifest | None:
    """Return the newest delta that is of the report's own summary; a cell without plugins has none."""
    summary = next(upstream for upstream in report.lineage if upstream.artifact.asset == arm_summary.ASSET)
    deltas = catalog.versions(report.artifact.with_changes(asset=plugin_deltas.ASSET))
    return next((delta for delta in reversed(deltas) if summary in delta.lineage), None)
