"""The file of a bundle: what its lines hold, and how they are read, written and locked."""

import fcntl
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ConfigDict, ValidationError

from evalplatform.kernel.errors import BundleError, BundleInUseError
from evalplatform.kernel.values import Value
from evalplatform.runs.records import BatchHeader, OneLine, Run, Words
from evalplatform.runs.regular_files import is_pipe_or_device
from evalplatform.runs.trajectory import Trajectory

BEGIN_LINE = b'{"bundle"'
BEGIN_LINE = b'{"bundle"'
END_LINE = b'{"end"'

V = TypeVar("V", bound=Value)


class BeginLine(Value):
    """The first line. `recording` is a random key of this recording alone: not of its content, and none of an import."""

    bundle: Literal["bundle.v1"]
    header: BatchHeader
    recording: OneLine | None = None


class RunLine(Value):
    """A run with its trajectory."""

    run: Run
    trajectory: Trajectory | None = None


class RunAloneLine(Value):
    """The line of a run, read without its trajectory."""

    model_config = ConfigDict(extra="ignore")

    run: Run


class EndFacts(Value):
    """What is said at the end: why runs are missing, and which."""

    truncated_reason: Words | None = None
    not_made: tuple[Run, ...] = ()


class EndLine(Value):
    """The last line."""

    end: EndFacts


def nothing_recorded(path: Path) -> bool:
    """Return whether a file is what a kill leaves before the first line of a bundle is whole: it is empty, or holds a part of that line."""
    if is_pipe_or_device(path):
        return False
    try:
        with path.open("rb") as file:
            line = file.readline()
    except (OSError, ValueError):
        return False
    return not line.endswith(b"\n") and (line.startswith(BEGIN_LINE) or BEGIN_LINE.startswith(line))


def lines_of(path: Path, *, first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Iterate over the whole lines from line `first` on, with their numbers; a last line without its newline was never finished.

    Raises:
        BundleError: it cannot be read, or is a pipe or device: a bundle is read more than once, and opening one of those may never end.
    """
    if is_pipe_or_device(path):
        raise BundleError("is no regular file: a bundle is read more than once, which a pipe or a device does not allow.", file=path)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if number >= first and line.endswith(b"\n"):
                    yield number, line
    except OSError as error:
        raise BundleError(f"cannot be read: {error.strerror or error}.", file=path) from error


def write_whole(file: FileIO, data: bytes) -> None:
    """Write all of it; raises OSError where the disk does not take it."""
    left = memoryview(data)
    while left:  # a disk that runs full takes a part
        left = left[file.write(left) or 0 :]


def locked(file: FileIO, path: Path) -> FileIO:
    """Lock a file that was opened at a path; where that fails, close it and raise BundleInUseError."""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_there = os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        is_there = False
    if not is_there:  # locked; or who holds it has put a new file in its place meanwhile
        file.close()
        raise BundleInUseError("is being recorded by another process.", file=path)
    return file


def checked_line(kind: type[V], line: bytes, path: Path, number: int) -> V:
    """Return what a line holds; BundleError with its number where it is no such line."""
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or None
        raise BundleError(f"is no line of a bundle: {problem['msg']}.", file=path, line=number, field=where) from None
