"""An object store in a local folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from evalplatform.adapters.stores.keys import checked_object_key, checked_prefix
from evalplatform.adapters.stores.open import LOCAL_SCHEME, store_schemes
from evalplatform.kernel.errors import InputError, ObjectExistsError, ObjectNotFoundError, StorageUnavailableError
from evalplatform.ports.object_store import ObjectInfo

UNFINISHED = ".unfinished"  # no key starts with a dot, so nothing in here can be read or listed


class LocalStore:
    """The ObjectStore port over a folder: one file for each object.

    A write goes to a file of its own, is flushed to the disk, and only then gets its name, so no reader and no crash ever sees a part.
    Several processes may write to one folder. The folder is made by the first write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser().absolute()

    @property
    def url(self) -> str:
        """The folder as a file URL."""
        return self._folder.as_uri()

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        """Write an object, durably.

        Raises:
            InputError: the key is not one of ours.
            ObjectExistsError: if `if_absent` and the key is taken; exactly one of several racing writers wins.
            StorageUnavailableError: the disk is full, read-only or gone.
        """
        path = self._path(key)
        unfinished = self._folder / UNFINISHED / uuid4().hex
        with self._disk_failures():
            unfinished.parent.mkdir(parents=True, exist_ok=True)
            _make_folder(path.parent, inside=self._folder)
            try:
                _write_flushed(unfinished, data)
                if if_absent:
                    os.link(unfinished, path)  # fails where the name is taken; a rename would replace it
                else:
                    unfinished.replace(path)
                _flush_folder(path.parent)
            except FileExistsError:
                raise ObjectExistsError(f"{key} is there already.") from None
            finally:
                with suppress(OSError):
                    unfinished.unlink(missing_ok=True)

    def get(self, key: str) -> bytes:
        """Return an object's bytes; ObjectNotFoundError where there is none, StorageUnavailableError where the disk fails."""
        with self._disk_failures():
            try:
                return self._path(key).read_bytes()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise ObjectNotFoundError(f"no object {key} in {self.url}") from None

    def exists(self, key: str) -> bool:
        """Say whether an object has that key."""
        with self._disk_failures():
            return self._path(key).is_file()

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Iterate over the objects whose key starts with `prefix`, in key order."""
        folder, _, start = checked_prefix(prefix).rpartition("/")
        with self._disk_failures():
            yield from _walk(self._folder / folder if folder else self._folder, f"{folder}/" if folder else "", start)

    def delete(self, key: str) -> None:
        """Remove an object, if it is there. Folders stay."""
        with self._disk_failures(), suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            self._path(key).unlink()

    def download_link(self, key: str, *, expires_seconds: int) -> str | None:
        """Return None: browsers do not follow file links."""
        return None

    def _path(self, key: str) -> Path:
        return self._folder.joinpath(*checked_object_key(key).split("/"))

    @contextmanager
    def _disk_failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageUnavailableError(f"{self.url} cannot be used: {error}") from error


@store_schemes.register(LOCAL_SCHEME)
def open_local_store(url: str) -> LocalStore:
    """Return the store in the folder that a file URL or a bare path names.

    Raises:
        InputError: no folder is named, or one on another host.
    """
    parts = urlsplit(url)
    if parts.scheme != LOCAL_SCHEME:
        path = url
    elif parts.netloc in ("", "localhost") and not parts.query:
        path = unquote(parts.path)
    else:
        raise InputError(f"{url!r} does not name a folder of this machine: write file:///path, with three slashes.", field="storage")
    if not path:
        raise InputError("names no folder.", field="storage")
    return LocalStore(Path(path))


def _walk(folder: Path, key_prefix: str, start: str) -> Iterator[ObjectInfo]:
    """Yield the objects below `folder` whose first part starts with `start`, in key order."""
    try:
        entries = [entry for entry in os.scandir(folder) if entry.name.startswith(start) and not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return
    # A folder's keys go on with a slash, and "a-b" sorts before "a/b".
    for entry in sorted(entries, key=lambda entry: entry.name + "/" if entry.is_dir() else entry.name):
        if entry.is_dir():
            yield from _walk(Path(entry.path), f"{key_prefix}{entry.name}/", "")
            continue
        with suppress(FileNotFoundError):  # deleted since
            yield ObjectInfo(key=key_prefix + entry.name, size_bytes=entry.stat().st_size)


def _write_flushed(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _make_folder(folder: Path, *, inside: Path) -> None:
    """Make the folder and its parents durable, down from `inside`, which exists."""
    if folder.is_dir():
        return
    if folder != inside:
        _make_folder(folder.parent, inside=inside)
    folder.mkdir(exist_ok=True)
    _flush_folder(folder.parent)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
