"""The catalog of artifacts: immutable versions in an object store, and for each partition a pointer to the current one.

    artifacts/<suite>/<asset>/<partition>/<data version>/<content key>/<file>
    artifacts/<suite>/<asset>/<partition>/<data version>/manifest.json
    current/<suite>/<asset>/<partition>.json

They are written in that order. The files of a version lie in a folder named by their own bytes, so an attempt that was killed, or a second
writer with other bytes, can never replace a file of a complete version. The manifest is written only if there is none. The pointer moves
last. So whatever is killed in between leaves the old pointer, and a version that can be seen is whole.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from pydantic import JsonValue, ValidationError

from evalplatform.artifacts.blobs import get_verified
from evalplatform.artifacts.records import (
    MANIFEST_NAME,
    ArtifactFile,
    ArtifactId,
    ArtifactManifest,
    Key,
    UpstreamVersion,
    media_type_of,
)
from evalplatform.kernel.digests import bytes_digest, canonical_json
from evalplatform.kernel.errors import (
    DigestMismatchError,
    InputError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    UnknownNameError,
)
from evalplatform.kernel.keys import checked_key
from evalplatform.kernel.values import Value
from evalplatform.ports.object_store import ObjectStore

_POINTER_ENDING = ".json"
_NOT_PAID_AGAIN = "what is still in the ledger is not paid again."


class _Pointer(Value):
    data_version: Key


class ArtifactCatalog:
    """Writes and finds artifacts in one object store. Its calls block, as the store's do; several threads may share it."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    @property
    def url(self) -> str:
        """The URL of the store, without secrets."""
        return self._store.url

    def write(
        self,
        artifact: ArtifactId,
        *,
        data_version: str,
        code_version: str,
        created_at: datetime,
        files: Mapping[str, bytes],
        inputs: Mapping[str, str] | None = None,
        lineage: tuple[UpstreamVersion, ...] = (),
        facts: Mapping[str, JsonValue] | None = None,
    ) -> ArtifactManifest:
        """Store a version, make it the current one, and return its manifest.

        A complete version is never overwritten: where the data version is there already, what is stored stays, whether the new bytes equal
        it or not, and only the pointer moves. The manifest that comes back is then the stored one; a caller who wants to know compares
        `files` or `created_at`.

        Args:
            artifact: the artifact's name.
            data_version: what it was made from, as `kernel.digests.data_version` gives it.
            code_version: the version of the code that made it.
            created_at: when, timezone-aware.
            files: bytes by file name. The name's ending decides the media type.
            inputs: the named digests behind the data version.
            lineage: the versions of other artifacts it was made from.
            facts: counts, cost and the like, shown without opening the files.

        Raises:
            InputError: a name that is no safe key, or facts that JSON cannot hold.
            StorageUnavailableError: the store does not answer; the old version is still current.
        """
        try:
            manifest = ArtifactManifest(
                artifact=artifact,
                data_version=data_version,
                code_version=code_version,
                created_at=created_at,
                inputs=dict(inputs or {}),
                lineage=lineage,
                files={name: _described(name, data) for name, data in files.items()},
                facts=dict(facts or {}),
            )
        except ValidationError as error:
            raise InputError(f"the manifest of {artifact.path} cannot be written: {error}") from error
        kept = self.version(artifact, data_version) or self._write_version(manifest, files)
        self.make_current(kept)
        return kept

    def make_current(self, manifest: ArtifactManifest) -> None:
        """Point the artifact's partition at a version that is stored; nothing is written where it points there already."""
        key = _pointer_key(manifest.artifact)
        pointer = canonical_json(_Pointer(data_version=manifest.data_version).model_dump())
        if not (self._store.exists(key) and self._store.get(key) == pointer):
            self._store.put(key, pointer)

    def current(self, artifact: ArtifactId) -> ArtifactManifest | None:
        """Return the current version's manifest, or None where the artifact was never written.

        Raises:
            StorageError: the pointer or the manifest is unreadable, or the version it names is gone.
            StorageUnavailableError: the store does not answer.
        """
        try:
            stored = self._store.get(_pointer_key(artifact))
        except ObjectNotFoundError:
            return None
        try:
            data_version = _Pointer.model_validate_json(stored).data_version
        except (ValidationError, InputError) as error:
            key = _pointer_key(artifact)
            raise StorageError(f"{key} in {self._store.url} is no pointer. Remove it and run the suite again: {_NOT_PAID_AGAIN}") from error
        manifest = self.version(artifact, data_version)
        if manifest is None:
            raise ObjectNotFoundError(
                f"{artifact.path} points at version {data_version}, which is gone from {self._store.url}; materialize it again."
            )
        return manifest

    def find_current(self, artifact: ArtifactId) -> ArtifactManifest | None:
        """Return the current version's manifest, or None where there is none: never written, or gone since its pointer was.

        For who looks at many artifacts, or makes one anew: what was removed because it was damaged must not stop them. Raises as `current`
        does otherwise.
        """
        try:
            return self.current(artifact)
        except ObjectNotFoundError:
            return None

    def version(self, artifact: ArtifactId, data_version: str) -> ArtifactManifest | None:
        """Return the manifest of one version, or None where there is no such (complete) version. Raises as `current` does."""
        key = _version_folder(artifact, data_version) + MANIFEST_NAME
        try:
            stored = self._store.get(key)
        except ObjectNotFoundError:
            return None
        try:
            return ArtifactManifest.model_validate_json(stored)
        except (ValidationError, InputError) as error:
            raise StorageError(
                f"{key} in {self._store.url} is no manifest that this version of evalplatform can read. "
                f"Remove {_version_folder(artifact, data_version)} and run the suite again: {_NOT_PAID_AGAIN}"
            ) from error

    def versions(self, artifact: ArtifactId) -> list[ArtifactManifest]:
        """Return the manifests of all complete versions, oldest first."""
        folder = f"artifacts/{artifact.path}/"
        manifests = []
        for stored in self._store.list(folder):
            data_version, _, rest = stored.key.removeprefix(folder).partition("/")
            if rest == MANIFEST_NAME and (manifest := self.version(artifact, data_version)) is not None:
                manifests.append(manifest)
        return sorted(manifests, key=lambda manifest: (manifest.created_at, manifest.data_version))

    def read(self, manifest: ArtifactManifest, file: str) -> bytes:
        """Return the bytes of one file of a version.

        Raises:
            UnknownNameError: the version has no such file.
            ObjectNotFoundError: the file is gone.
            DigestMismatchError: the stored bytes are not those that were written.
            StorageUnavailableError: the store does not answer.
        """
        try:
            return get_verified(self._store, file_key(manifest, file), manifest.files[file].digest)
        except (DigestMismatchError, ObjectNotFoundError) as error:
            # A version is never overwritten, so one that is damaged would stay so; without it, its stage makes it again.
            folder = _version_folder(manifest.artifact, manifest.data_version)
            raise type(error)(
                f"{str(error).rstrip('.')}. Remove {folder} from {self._store.url} and run the suite again: {_NOT_PAID_AGAIN}"
            ) from error

    def download_link(self, manifest: ArtifactManifest, file: str, *, expires_seconds: int) -> str | None:
        """Return a link to a file that works for a while, or None where the store has none; UnknownNameError without such a file."""
        return self._store.download_link(file_key(manifest, file), expires_seconds=expires_seconds)

    def list(self, *, suite: str | None = None, asset: str | None = None, first_key: str | None = None) -> Iterator[ArtifactId]:
        """Iterate over the artifacts that have a current version, by name; `suite` and `asset` narrow it down.

        With both, `first_key` narrows it further to the partitions of several keys that start with it, such as one cell under its judges.
        """
        prefix = "current/" if suite is None else f"current/{checked_key(suite, what='suite')}/"
        if suite is not None and asset is not None:
            prefix += f"{checked_key(asset, what='asset')}/"
            prefix += "" if first_key is None else f"{checked_key(first_key, what='partition key')}/"
        for stored in self._store.list(prefix):
            _, found_suite, found_asset, partition = stored.key.removesuffix(_POINTER_ENDING).split("/", 3)
            if asset in (None, found_asset):
                yield ArtifactId(suite=found_suite, asset=found_asset, partition=partition)

    def _write_version(self, manifest: ArtifactManifest, files: Mapping[str, bytes]) -> ArtifactManifest:
        """Write the files, then the manifest; return the manifest that stays, which is another writer's where that was first."""
        described = canonical_json(manifest.model_dump(mode="json"))
        for name, data in files.items():
            self._store.put(file_key(manifest, name), data)
        key = _version_folder(manifest.artifact, manifest.data_version) + MANIFEST_NAME
        try:
            self._store.put(key, described, if_absent=True)
        except ObjectExistsError:
            return self.version(manifest.artifact, manifest.data_version) or manifest
        return manifest


def file_key(manifest: ArtifactManifest, file: str) -> str:
    """Return the object key of one file of a version.

    Raises:
        UnknownNameError: the version has no such file, with the nearest name.
    """
    if file not in manifest.files:
        raise UnknownNameError(f"file of {manifest.artifact.path}", file, manifest.files)
    return f"{_version_folder(manifest.artifact, manifest.data_version)}{manifest.content_key}/{file}"


def _described(name: str, data: bytes) -> ArtifactFile:
    return ArtifactFile(digest=bytes_digest(data), size_bytes=len(data), media_type=media_type_of(name))


def _version_folder(artifact: ArtifactId, data_version: str) -> str:
    return f"artifacts/{artifact.path}/{checked_key(data_version, what='data version')}/"


def _pointer_key(artifact: ArtifactId) -> str:
    return f"current/{artifact.path}{_POINTER_ENDING}"
