"""A workspace: a folder that a run gets its own copy of, and what the run left changed in it.

Regular files and links within the folder are copied. Nothing is read through a link and nothing special (a pipe, a socket, a device) is
opened: what a run leaves of these counts by what it is. Empty folders do not count, as in Git.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.text import plural
from evalplatform.runs.trajectory import ChangedFile, FileChangeStep

LARGEST_WORKSPACE_BYTES = 512 * 2**20
MOST_WORKSPACE_FILES = 50_000
_READ_BYTES = 1 << 20

FileStates = dict[str, str]
"""Digest of every file, by its path in the workspace."""


class WorkspaceTooLargeError(Exception):
    """A folder holds more than a workspace may: its size or its number of files. The text says which."""


def checked_workspace(folder: Path, *, field: str) -> Path:
    """Return a folder that can be copied for every run.

    Raises:
        InputError: it is no folder, is larger than 512 MiB or 50,000 files, or holds a link that leads out of it or something special.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}.", field=field)
    try:
        for path, status in _bounded(folder):
            if stat.S_ISLNK(status.st_mode) and not _stays_within(path, folder):
                raise InputError(f"{_shown(path, folder)!r} is a link that leads out of the workspace.", field=field)
            if not (stat.S_ISLNK(status.st_mode) or stat.S_ISREG(status.st_mode)):
                raise InputError(f"{_shown(path, folder)!r} is neither a file nor a link, and cannot be copied.", field=field)
    except WorkspaceTooLargeError as error:
        raise InputError(f"{str(folder)!r} {error}", field=field) from None
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be read: {error}.", field=field) from error
    return folder


def copy_workspace(source: Path, target: Path) -> FileStates:
    """Copy a checked workspace to `target`, which is made, and return the state of the copy. Raises OSError."""
    shutil.copytree(source, target, symlinks=True)
    return file_states(target)


def file_states(folder: Path) -> FileStates:
    """Return the digest of every file below a folder.

    Raises:
        WorkspaceTooLargeError: there is more than a workspace may hold.
    """
    return {_shown(path, folder): _state(path, status) for path, status in _bounded(folder)}


def file_changes(before: Mapping[str, str], after: Mapping[str, str]) -> FileChangeStep:
    """Return the files whose digests differ, in the order of their paths."""
    changed = []
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            changed.append(ChangedFile(path=path, change="removed"))
        elif path not in before:
            changed.append(ChangedFile(path=path, change="added", digest=after[path]))
        elif before[path] != after[path]:
            changed.append(ChangedFile(path=path, change="modified", digest=after[path]))
    return FileChangeStep(files=tuple(changed))


def remove_folder(folder: Path) -> None:
    """Remove a folder, whatever a run has made of its permissions."""

    def opened(function: object, path: str, error: object) -> None:
        Path(path).parent.chmod(stat.S_IRWXU)
        if Path(path).is_dir() and not Path(path).is_symlink():
            Path(path).chmod(stat.S_IRWXU)
            shutil.rmtree(path, onerror=opened)
        else:
            Path(path).unlink()

    shutil.rmtree(folder, onerror=opened)


def _bounded(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Iterate over everything below a folder that is no folder; no link is followed."""
    files = size_bytes = 0
    for parent, folders, names in os.walk(folder, onerror=_raise):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for name in (*links, *names):
            path = Path(parent, name)
            status = path.lstat()
            files += 1
            size_bytes += status.st_size
            if files > MOST_WORKSPACE_FILES:
                raise WorkspaceTooLargeError(f"holds more than {plural(MOST_WORKSPACE_FILES, 'file')}.")
            if size_bytes > LARGEST_WORKSPACE_BYTES:
                raise WorkspaceTooLargeError(f"is larger than {LARGEST_WORKSPACE_BYTES // 2**20} MiB.")
            yield path, status


def _raise(error: OSError) -> None:
    raise error


def _state(path: Path, status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return text_digest(f"link to {_text(path.readlink())}")
    if not stat.S_ISREG(status.st_mode):
        return text_digest(f"special {stat.S_IFMT(status.st_mode):o}")
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_READ_BYTES):
                digest.update(piece)
    except PermissionError:
        return text_digest("unreadable")
    return f"sha256:{digest.hexdigest()}"


def _stays_within(path: Path, folder: Path) -> bool:
    return not path.readlink().is_absolute() and path.resolve().is_relative_to(folder.resolve())


def _shown(path: Path, folder: Path) -> str:
    return _text(path.relative_to(folder)).replace(os.sep, "/")


def _text(path: Path) -> str:
    """Return a path as text that JSON can hold: bytes that are no UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
