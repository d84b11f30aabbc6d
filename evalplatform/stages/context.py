"""What every stage is given: the project, the suite, and the ports that wiring opened."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import UNPARTITIONED, ArtifactId, ArtifactManifest, UpstreamVersion
from evalplatform.calls.desk import CallDesk
from evalplatform.calls.progress import OnProgress
from evalplatform.kernel.digests import data_version, json_digest
from evalplatform.kernel.errors import InputError, ObjectNotFoundError
from evalplatform.ports.clock import Clock
from evalplatform.ports.documents import DocumentSource
from evalplatform.ports.locks import Locks
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.key_register import KeyRegister, meaning_of
from evalplatform.project.load import Project
from evalplatform.project.schema import SuiteSettings

WARNINGS_INPUT = "warnings"

OpenDesk = Callable[[str], AbstractAsyncContextManager[CallDesk]]


class ArtifactHome(Protocol):
    """What any context of a project offers to whoever writes or shows its artifacts."""

    @property
    def project(self) -> Project:
        """The project that they are of."""
        ...

    @property
    def catalog(self) -> ArtifactCatalog:
        """Where they lie."""
        ...

    @property
    def clock(self) -> Clock:
        """What dates them."""
        ...


@dataclass(frozen=True)
class SuiteContext:
    """One suite of an opened project.

    `open_desk` opens the call desk of an endpoint by its id, with the run's budget and tally. `library_id` overrides the product's, as
    `--context7-id` does.
    """

    project: Project
    suite_id: str
    suite: SuiteSettings
    catalog: ArtifactCatalog
    key_register: KeyRegister
    locks: Locks
    clock: Clock
    run_id: str
    open_desk: OpenDesk
    open_document_source: Callable[[str], DocumentSource]
    on_progress: OnProgress
    library_id: str | None = None

    def artifact(self, asset: str, partition: str = UNPARTITIONED) -> ArtifactId:
        """Return the id of one of the suite's artifacts."""
        return ArtifactId(suite=self.suite_id, asset=asset, partition=partition)

    def claim_key(self, owner: Cell | JudgeCell) -> None:
        """Take the key of a cell or judge for what it stands for; called before anything is asked under it.

        Raises:
            InputError: the key stands for something else.
        """
        self.key_register.claim(meaning_of(owner, first_seen=self.clock.now()))

    def upstream(self, asset: str, partition: str = UNPARTITIONED) -> ArtifactManifest:
        """Return the current version of an artifact that a stage reads.

        Raises:
            InputError: it was never materialized.
        """
        manifest = self.catalog.current(self.artifact(asset, partition))
        if manifest is None:
            where = "" if partition == UNPARTITIONED else f" of partition {partition!r}"
            raise InputError(f"the suite {self.suite_id!r} has no {asset}{where} yet; materialize {asset} first.")
        return manifest

    def made_from(self, manifest: ArtifactManifest, asset: str) -> ArtifactManifest:
        """Return the version of an upstream asset that `manifest` was made from; the current one may be another by now.

        Raises:
            ObjectNotFoundError: that version is gone from the store.
        """
        read = next(upstream for upstream in manifest.lineage if upstream.artifact.asset == asset)
        found = self.catalog.version(read.artifact, read.data_version)
        if found is None:
            raise ObjectNotFoundError(f"{manifest.artifact.path} was made from version {read.data_version} of {asset}, which is gone.")
        return found


def refuse_mixed_versions(made: ArtifactManifest, *read: ArtifactManifest) -> None:
    """Raise InputError unless `made` was made from exactly the versions that are read beside it.

    Stages can be materialized one by one, so scores may be there whose answers have been replaced since; summed up together they would
    describe no run at all.
    """
    versions = {upstream.artifact: upstream.data_version for upstream in made.lineage}
    for manifest in read:
        if versions.get(manifest.artifact, manifest.data_version) != manifest.data_version:
            asset = made.artifact.asset
            raise InputError(f"{made.artifact.path} was made from an earlier {manifest.artifact.asset}; materialize {asset} again first.")


@dataclass(frozen=True)
class StageResult:
    """What a stage left: the artifact version that is now current, and whether it was already there (then nothing was computed)."""

    manifest: ArtifactManifest
    unchanged: bool


@dataclass(frozen=True)
class StageKey:
    """Which version a stage makes: the artifact, the named digests of its inputs, what it read, and the version of its code."""

    artifact: ArtifactId
    inputs: Mapping[str, str]
    code_version: str
    lineage: tuple[ArtifactManifest, ...] = ()

    @property
    def data_version(self) -> str:
        """The version of a complete result."""
        return data_version(self.inputs, schema_version=f"{self.artifact.asset}.v{self.code_version}")

    def incomplete_version(self, content_digest: str) -> str:
        """The version of a result that a rerun would add to: never the one that a rerun looks for."""
        return data_version({**self.inputs, "incomplete": content_digest}, schema_version=f"{self.artifact.asset}.v{self.code_version}")


def versions_of(manifests: Sequence[ArtifactManifest]) -> dict[str, str]:
    """Return the data version of each of the artifacts, by the name of its asset."""
    return {manifest.artifact.asset: manifest.data_version for manifest in manifests}


def warning_inputs(warnings: Sequence[str]) -> dict[str, str]:
    """Return what warnings add to a version's inputs: their digest, or nothing where there are none.

    They are not content, and no answer depends on them; but what is mended without changing content must not go on being warned of.
    """
    return {WARNINGS_INPUT: json_digest(list(warnings))} if warnings else {}


def unchanged_result(context: ArtifactHome, key: StageKey) -> StageResult | None:
    """Return the stored result of exactly these inputs, made current again, or None where there is none."""
    manifest = context.catalog.version(key.artifact, key.data_version)
    if manifest is None:
        return None
    context.catalog.make_current(manifest)
    return StageResult(manifest=manifest, unchanged=True)


def stored_result(
    context: ArtifactHome,
    key: StageKey,
    *,
    files: Mapping[str, bytes],
    facts: Mapping[str, JsonValue],
    data_version: str | None = None,
) -> StageResult:
    """Write a stage's files as a new version and make it current."""
    manifest = context.catalog.write(
        key.artifact,
        data_version=data_version or key.data_version,
        code_version=key.code_version,
        created_at=context.clock.now(),
        inputs=dict(key.inputs),
        lineage=tuple(UpstreamVersion(artifact=read.artifact, data_version=read.data_version) for read in key.lineage),
        files=files,
        facts=facts,
    )
    return StageResult(manifest=manifest, unchanged=False)
