"""What the listing pages show, as values: suites, assets, partitions, files, and where their links lead."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Literal

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.download_paths import REPORT_ASSET, FileAddress, bundle_address
from evalplatform.artifacts.records import ArtifactId, ArtifactManifest
from evalplatform.kernel.errors import EvalplatformError, StorageError, StorageUnavailableError
from evalplatform.kernel.values import Value
from evalplatform.project.load import Project, load_project
from evalplatform.stages.retired import AskedFor, asked_for, is_retired
from evalplatform.web.errors import visitors_sentence

READERS = 8

State = Literal["current", "retired", "not in the project file", "damaged", "unknown"]


class ListedKeys(Value):
    """What the project file asks for now; None, with a notice, where it cannot be read."""

    asked: AskedFor | None
    notice: str | None = None

    def state(self, artifact: ArtifactId) -> State:
        """Say whether the project file still asks for an artifact's partition."""
        if self.asked is None:
            return "unknown"
        if artifact.suite not in self.asked.suites:
            return "not in the project file"
        return "retired" if is_retired(artifact, self.asked) else "current"


class FileView(Value):
    """A stored file with its link."""

    name: str
    href: str
    size_bytes: int


class PartitionView(Value):
    """The current version of a partition. `problem` says why there is nothing to show of it; the rest is then empty."""

    name: str
    state: State
    version: str = ""
    made_at: datetime | None = None
    files: tuple[FileView, ...] = ()
    bundle_href: str | None = None
    problem: str | None = None


class AssetView(Value):
    """An asset of a suite with the number of its partitions."""

    name: str
    href: str
    partitions: int


class SuiteView(Value):
    """A suite with its assets, and the latest of its `reports_total` reports."""

    id: str
    assets: tuple[AssetView, ...]
    reports: tuple[PartitionView, ...]
    reports_total: int


def listed_keys(project: Project) -> ListedKeys:
    """Return the keys of the project file as it is now: cells and judges may have been edited since the app started."""
    try:
        now = project if project.file is None else load_project(project.file)
        return ListedKeys(asked=asked_for(now))
    except EvalplatformError as error:
        return ListedKeys(asked=None, notice=f"The project file cannot be read, so nothing is known of what is retired: {error}")


def suite_views(catalog: ArtifactCatalog, keys: ListedKeys, *, reports_shown: int) -> list[SuiteView]:
    """Return every suite that has something stored, by id.

    Raises:
        StorageError: the store does not answer.
    """
    by_suite: dict[str, dict[str, list[ArtifactId]]] = {}
    for artifact in catalog.list():
        by_suite.setdefault(artifact.suite, {}).setdefault(artifact.asset, []).append(artifact)
    return [
        SuiteView(
            id=suite,
            assets=tuple(AssetView(name=name, href=f"/suites/{suite}/{name}", partitions=len(found)) for name, found in assets.items()),
            reports=partition_views(catalog, _live_first(assets.get(REPORT_ASSET, ()), keys)[:reports_shown], keys),
            reports_total=len(assets.get(REPORT_ASSET, ())),
        )
        for suite, assets in by_suite.items()
    ]


def partition_views(catalog: ArtifactCatalog, artifacts: Iterable[ArtifactId], keys: ListedKeys) -> tuple[PartitionView, ...]:
    """Return the current versions of artifacts; one that cannot be read says so in its place.

    Raises:
        StorageUnavailableError: the store does not answer.
    """
    with ThreadPoolExecutor(max_workers=READERS, thread_name_prefix="listing") as pool:
        return tuple(pool.map(lambda artifact: _partition_view(catalog, artifact, keys.state(artifact)), artifacts))


def _partition_view(catalog: ArtifactCatalog, artifact: ArtifactId, state: State) -> PartitionView:
    try:
        manifest = catalog.current(artifact)
    except StorageUnavailableError:
        raise
    except StorageError as error:
        return PartitionView(name=artifact.partition, state="damaged", problem=visitors_sentence(error, store_url=catalog.url))
    if manifest is None:
        return PartitionView(name=artifact.partition, state=state, problem="It has just been removed.")
    return PartitionView(
        name=artifact.partition,
        state=state,
        version=manifest.data_version,
        made_at=manifest.created_at,
        files=_files(manifest),
        bundle_href=bundle_address(artifact.suite, artifact.partition).path if artifact.asset == REPORT_ASSET else None,
    )


def _files(manifest: ArtifactManifest) -> tuple[FileView, ...]:
    return tuple(
        FileView(name=name, href=FileAddress(artifact=manifest.artifact, file=name).path, size_bytes=file.size_bytes)
        for name, file in sorted(manifest.files.items())
    )


def _live_first(artifacts: Sequence[ArtifactId], keys: ListedKeys) -> list[ArtifactId]:
    return sorted(artifacts, key=lambda artifact: (keys.state(artifact) != "current", artifact.partition))
