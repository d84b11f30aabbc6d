"""Going on with a bundle that was interrupted or cut short, or whose agent could not be reached."""

import fcntl
import os
from contextlib import suppress
from io import FileIO
from pathlib import Path

from evalplatform.kernel.errors import BundleError, StorageUnavailableError
from evalplatform.runs.bundle import BundleSummary, BundleWriter, could_not_run, read_bundle
from evalplatform.runs.bundle_file import END_LINE, RunAloneLine, checked_line, lines_of, locked, write_whole

HARNESS_ERROR = b'"harness_error"'


class ClaimedBundle:
    """A bundle that is there, locked against every other writer, and not changed yet: go on with it, or close it.

    Attributes:
        path: its file.
        summary: what it holds.
    """

    def __init__(self, file: FileIO, path: Path, summary: BundleSummary) -> None:
        self._file = file
        self.path = path
        self.summary = summary

    def gone_on_with(self) -> BundleWriter:
        """Return the writer of what it lacks: planned runs that were not made, and those that could not run.

        What goes (a last line that a kill left half written, the end line, the lines of runs that could not run) is left out of a new file,
        which takes the place of the old one as a whole: a kill leaves the one or the other.

        Raises:
            StorageUnavailableError: the disk does not take it; the bundle stays as it is.
        """
        target = self.path.resolve()  # a link goes on leading to it
        temporary = target.with_name(f".{target.name}.tmp")
        try:
            file = temporary.open("w+b", buffering=0)
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                for number, line in lines_of(self.path):
                    if not _is_left_out(line, self.path, number):
                        write_whole(file, line)
                os.fsync(file.fileno())
                temporary.replace(target)
                _sync_folder(target.parent)
            except BaseException:
                file.close()
                with suppress(OSError):
                    temporary.unlink()
                raise
        except OSError as error:
            raise StorageUnavailableError(f"{self.path} cannot be written: {error.strerror or error}.") from error
        finally:
            self.close()
        return BundleWriter(file, self.path)

    def close(self) -> None:
        """Let others have it; calling it twice is fine."""
        self._file.close()


def claimed_bundle(path: Path) -> ClaimedBundle:
    """Lock a bundle that is open or truncated, or has runs that could not run, to go on with it.

    Raises:
        BundleInUseError: another process is recording into it.
        BundleError: it is finished and lacks nothing, it is no bundle, or it cannot be read and written.
    """
    try:
        file = path.open("r+b", buffering=0)
    except OSError as error:
        raise BundleError(f"cannot be written: {error.strerror or error}.", file=path) from error
    locked(file, path)
    try:
        summary = read_bundle(path)
        if summary.is_whole:
            raise BundleError("is finished: nothing can be added to it.", file=path)
        return ClaimedBundle(file, path, summary)
    except BaseException:
        file.close()
        raise


def reopened_bundle(path: Path) -> BundleWriter:
    """Go on with a bundle at once. Raises as `claimed_bundle` and `ClaimedBundle.gone_on_with` do."""
    return claimed_bundle(path).gone_on_with()


def _is_left_out(line: bytes, path: Path, number: int) -> bool:
    if line.startswith(END_LINE):
        return True
    return number > 1 and HARNESS_ERROR in line and could_not_run(checked_line(RunAloneLine, line, path, number).run)


def _sync_folder(folder: Path) -> None:
    """Make durable which file a name stands for."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
