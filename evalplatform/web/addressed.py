"""What an address leads to, or the nearest thing that is stored."""

from collections.abc import Iterable

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.download_paths import BundleAddress, FileAddress
from evalplatform.artifacts.records import ArtifactFile, ArtifactManifest
from evalplatform.kernel.errors import nearest_name
from evalplatform.web.errors import AddressError
from evalplatform.wiring import OpenedProject

NAMES_SHOWN = 10


def addressed_version(opened: OpenedProject, wanted: FileAddress | BundleAddress) -> ArtifactManifest:
    """Return the version of an artifact that an address means.

    Raises:
        AddressError: nothing stored has that suite, asset, partition or version; it names the nearest that is.
        StorageError: the store does not answer, or cannot be read.
    """
    catalog = opened.catalog
    found = catalog.current(wanted.artifact) if wanted.version is None else catalog.version(wanted.artifact, wanted.version)
    if found is None:
        raise _nothing_there(catalog, wanted)
    return found


def addressed_file(manifest: ArtifactManifest, wanted: FileAddress) -> ArtifactFile:
    """Return the description of a file of a version.

    Raises:
        AddressError: the version has no such file; it names the nearest that it has.
    """
    if wanted.file not in manifest.files:
        raise _unknown_name(f"file of {manifest.artifact.path}", wanted.file, manifest.files)
    return manifest.files[wanted.file]


def no_such_asset(catalog: ArtifactCatalog, suite: str, asset: str) -> AddressError:
    """Return the error for an asset of which nothing is stored: the nearest of its suite, or of the suites where none has that name.

    Raises:
        StorageError: the store does not answer.
    """
    assets = {stored.asset for stored in catalog.list(suite=suite)}
    if assets:
        return _unknown_name(f"asset of {suite}", asset, assets)
    return _unknown_name("suite", suite, {stored.suite for stored in catalog.list()})


def _nothing_there(catalog: ArtifactCatalog, wanted: FileAddress | BundleAddress) -> AddressError:
    """Return the error that says which part of the address is wrong. The store is listed only as deep as the address is right."""
    artifact = wanted.artifact
    partitions = {stored.partition for stored in catalog.list(suite=artifact.suite, asset=artifact.asset)}
    if artifact.partition in partitions:
        versions = [manifest.data_version for manifest in catalog.versions(artifact)]
        return _unknown_name(f"version of {artifact.path}", wanted.version or "", versions)
    if partitions:
        return _unknown_name(f"partition of {artifact.suite}/{artifact.asset}", artifact.partition, partitions)
    return no_such_asset(catalog, artifact.suite, artifact.asset)


def _unknown_name(what: str, name: str, known: Iterable[str]) -> AddressError:
    """Return the error for a name that nothing stored has, with a few of those there are and the nearest."""
    names = sorted(known)
    shown = ", ".join(names[:NAMES_SHOWN]) or "nothing"
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return AddressError(f"no stored {what} is called {name!r} (there is {shown}{more}).", nearest=nearest_name(name, names))
