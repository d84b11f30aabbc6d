"""Locks of the operating system on files: for processes of one machine that share a SQLite database."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import StorageUnavailableError

RETRY_SECONDS = 0.1


class FileLocks:
    """The Locks port over a folder: a file for each name that is held, locked by `flock`.

    The operating system gives a lock back when its holder's process ends, `kill -9` included. The file of a lock is removed by its holder;
    one that a killed process left behind is taken by the next, so the folder holds no more files than there are locks in use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def held(self, name: str, *, on_wait: Callable[[], None]) -> AsyncIterator[None]:
        """Hold the lock of that name for the body; see `ports.locks.Locks`. It is asked for ten times a second, so Ctrl-C ends a wait."""
        path = self._folder / f"{text_digest(name).removeprefix('sha256:')[:32]}.lock"
        descriptor = self._taken(path)
        if descriptor is None:
            on_wait()
        while descriptor is None:
            await asyncio.sleep(RETRY_SECONDS)
            descriptor = self._taken(path)
        try:
            yield
        finally:
            with suppress(OSError):  # the name goes first: who opens it after that opens a file of its own
                path.unlink()
            os.close(descriptor)

    def _taken(self, path: Path) -> int | None:
        """Lock the file and return its descriptor, or None where another holds it."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StorageUnavailableError(f"the lock {path} cannot be made: {error.strerror or error}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
        except BlockingIOError:
            pass
        except OSError as error:
            os.close(descriptor)
            raise StorageUnavailableError(f"the lock {path} cannot be taken: {error.strerror or error}.") from error
        os.close(descriptor)
        return None


def _is_at(path: Path, descriptor: int) -> bool:
    """Say whether the open file still has its name: a holder that ended meanwhile has removed it, and another may have made it anew."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
