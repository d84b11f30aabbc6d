"""Which artifacts belong to the reports bundle of a partition, and their files."""

from collections.abc import Sequence

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import ArtifactId, ArtifactManifest
from evalplatform.reports.bundle import BundledArtifact, bundle_zip
from evalplatform.stages import score_moves, verdicts

# What is told of the same scores beside the report; each goes in where it is there.
COMPANIONS = (score_moves.ASSET, verdicts.ASSET)
READABLE_ENDINGS = ("csv", "html", "json", "md")


def bundled_manifests(catalog: ArtifactCatalog, report: ArtifactManifest) -> tuple[ArtifactManifest, ...]:
    """Return the report's manifest, and those of the artifacts that were made from the same versions as it.

    Raises:
        StorageError: the store does not answer, or a manifest is unreadable.
    """
    artifact = report.artifact
    companions = (
        _companion(catalog, report, ArtifactId(suite=artifact.suite, asset=asset, partition=artifact.partition)) for asset in COMPANIONS
    )
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


def _companion(catalog: ArtifactCatalog, report: ArtifactManifest, artifact: ArtifactId) -> ArtifactManifest | None:
    """Return the version that goes with the report: the one it read, else the current or the newest that was made from what it was made."""
    read = next((upstream for upstream in report.lineage if upstream.artifact == artifact), None)
    if read is not None:
        return catalog.version(artifact, read.data_version)
    current = catalog.current(artifact)
    if current is None or _agrees(current, report):
        return current
    return next((version for version in reversed(catalog.versions(artifact)) if _agrees(version, report)), None)


def _agrees(manifest: ArtifactManifest, report: ArtifactManifest) -> bool:
    """Say whether an artifact was made from the scores that the report tells of, whatever else (such as earlier scores) it read."""
    read_by_both = {upstream.artifact for upstream in manifest.lineage} & {upstream.artifact for upstream in report.lineage}
    of_report = {upstream for upstream in report.lineage if upstream.artifact in read_by_both}
    return bool(read_by_both) and of_report <= set(manifest.lineage)
