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
from evalplatform.stages import batch_comparisons
from evalplatform.stages.batch_comparisons import DIFF_PREFIX
from evalplatform.stages.retired import AskedFor, asked_for, is_retired
from evalplatform.stages.runs_context import RUNS
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
            return "current" if artifact.suite == RUNS else "not in the project file"  # batches are of the store, not of the file
        return "retired" if is_retired(artifact, self.asked) else "current"


class FileView(Value):
    """A stored file with its link."""

    name: str
    href: str
    size_bytes: int


class PartitionView(Value):
    """The current version of a partition. `problem` says why there is nothing to show of it; the rest is then empty.

    `diff_pages` counts the pages of single scenarios, to which the comparison's own page leads; they are not listed.
    """

    name: str
    state: State
    version: str = ""
    made_at: datetime | None = None
    files: tuple[FileView, ...] = ()
    diff_pages: int = 0
    bundle_href: str | None = None
    problem: str | None = None


class AssetView(Value):
    """An asset of a suite with the number of its partitions."""

    name: str
    href: str
    partitions: int


class SuiteView(Value):
    """A suite with its assets, and some of its `reports_total` reports, which are of the asset `report_asset`."""

    id: str
    report_asset: str
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
            report_asset=_report_asset(suite),
            assets=tuple(AssetView(name=name, href=f"/suites/{suite}/{name}", partitions=len(found)) for name, found in assets.items()),
            reports=partition_views(catalog, _reports_first(assets.get(_report_asset(suite), ()), keys)[:reports_shown], keys),
            reports_total=len(assets.get(_report_asset(suite), ())),
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
        diff_pages=sum(_is_diff_page(manifest, name) for name in manifest.files),
        bundle_href=bundle_address(artifact.suite, artifact.partition).path if artifact.asset == REPORT_ASSET else None,
    )


def _files(manifest: ArtifactManifest) -> tuple[FileView, ...]:
    return tuple(
        FileView(name=name, href=FileAddress(artifact=manifest.artifact, file=name).path, size_bytes=file.size_bytes)
        for name, file in sorted(manifest.files.items())
        if not _is_diff_page(manifest, name)
    )


def _is_diff_page(manifest: ArtifactManifest, name: str) -> bool:
    return manifest.artifact.suite == RUNS and manifest.artifact.asset == batch_comparisons.ASSET and name.startswith(DIFF_PREFIX)


def _report_asset(suite: str) -> str:
    return batch_comparisons.ASSET if suite == RUNS else REPORT_ASSET


def _reports_first(artifacts: Sequence[ArtifactId], keys: ListedKeys) -> list[ArtifactId]:
    """Return a suite's reports, what is still asked for first; those of batches the newest first, as their ids begin with the time."""
    if artifacts and artifacts[0].suite == RUNS:
        return sorted(artifacts, key=lambda artifact: artifact.partition, reverse=True)
    return sorted(artifacts, key=lambda artifact: (keys.state(artifact) != "current", artifact.partition))
