"""Addresses of downloads on the web app, without its host.

    /download/<suite>/<asset>/<partition>/<file>               the current version
    /download/<suite>/<asset>/<partition>/@<version>/<file>    that version, for ever
    /download/<suite>/<partition>/reports.zip                  the reports of a partition as one file; `@<version>` is the report's

A partition is one key, or several between slashes. No key holds an `@`, and `reports.zip` is the name of no artifact's file, so an address
can be read in one way only.
"""

from evalplatform.artifacts.records import ArtifactId, FileName, Key
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.keys import checked_key
from evalplatform.kernel.values import Value

ROOT = "/download/"
BUNDLE_FILE = "reports.zip"
REPORT_ASSET = "arms_report"
_VERSION_MARK = "@"


class FileAddress(Value):
    """The address of one file of an artifact; `version` is None for whatever version is current."""

    artifact: ArtifactId
    file: FileName
    version: Key | None = None

    @property
    def path(self) -> str:
        """The path of the URL."""
        return f"{ROOT}{self.artifact.path}/{_version_part(self.version)}{self.file}"

    def pinned(self, version: str) -> "FileAddress":
        """Return the address of that version's file."""
        return FileAddress(artifact=self.artifact, file=self.file, version=version)


class BundleAddress(Value):
    """The address of a partition's reports in one file; `version` is that of the report, or None for the current one."""

    artifact: ArtifactId
    version: Key | None = None

    @property
    def path(self) -> str:
        """The path of the URL."""
        return f"{ROOT}{self.artifact.suite}/{self.artifact.partition}/{_version_part(self.version)}{BUNDLE_FILE}"

    def pinned(self, version: str) -> "BundleAddress":
        """Return the address of the bundle of that version's report."""
        return BundleAddress(artifact=self.artifact, version=version)


def bundle_address(suite: str, partition: str, version: str | None = None) -> BundleAddress:
    """Return the address of the reports of a suite's partition."""
    return BundleAddress(artifact=ArtifactId(suite=suite, asset=REPORT_ASSET, partition=partition), version=version)


def read_address(text: str) -> FileAddress | BundleAddress:
    """Return what the part of a path after `/download/` addresses, whether it is stored or not.

    Raises:
        InputError: a part of it is no safe key, or there are too few or too many parts.
    """
    *folders, file = text.split("/")
    version = None
    if folders and folders[-1].startswith(_VERSION_MARK):
        version = checked_key(folders.pop().removeprefix(_VERSION_MARK), what="version")
    for part in (*folders, file):
        checked_key(part, what="part of a download's address")
    if file == BUNDLE_FILE and len(folders) >= 2:
        return bundle_address(folders[0], "/".join(folders[1:]), version)
    if file == BUNDLE_FILE or len(folders) < 3:
        raise InputError(
            f"{text!r} addresses no download: write SUITE/ASSET/PARTITION/FILE, or SUITE/PARTITION/{BUNDLE_FILE} for a partition's reports."
        )
    suite, asset, *partition = folders
    return FileAddress(artifact=ArtifactId(suite=suite, asset=asset, partition="/".join(partition)), file=file, version=version)


def _version_part(version: str | None) -> str:
    return "" if version is None else f"{_VERSION_MARK}{version}/"
