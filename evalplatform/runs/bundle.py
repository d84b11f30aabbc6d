"""A bundle: the file that a batch is recorded in, line by line, while it runs.

    {"bundle": "bundle.v1", "header": {...}}
    {"run": {...}, "trajectory": {...} | null}      one line a run, durable the moment the run ends
    {"end": {"truncated_reason": null, "not_made": []}}    a bundle without its end is still open

`not_made` lists the planned runs that a spend cap or another stop left unmade, as `ungraded` runs: they stand in the end line, so that who
goes on with a truncated bundle has only that line to take away.

A line is written and synced before anything goes on, so a kill loses no finished run: what it may leave is a last line that is not whole,
which the next writer cuts off. The order of the runs in the file is the order they ended in; readers sort. The writer holds a lock of the
operating system on the file, so that two processes never record into one bundle.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self, TypeVar

from pydantic import ConfigDict, ValidationError

from evalplatform.kernel.digests import canonical_json
from evalplatform.kernel.errors import BundleError, InputError, StorageUnavailableError
from evalplatform.kernel.values import Value
from evalplatform.runs.batch_tally import BatchTally, tallied
from evalplatform.runs.records import Batch, BatchHeader, Run, Words
from evalplatform.runs.trajectory import Trajectory

BUNDLE_ENDING = ".jsonl"
END_LINE = b'{"end"'

V = TypeVar("V", bound=Value)


class _Begin(Value):
    bundle: Literal["bundle.v1"]
    header: BatchHeader


class _Recorded(Value):
    run: Run
    trajectory: Trajectory | None = None


class _RecordedRunAlone(Value):
    model_config = ConfigDict(extra="ignore")

    run: Run


class _EndFacts(Value):
    truncated_reason: Words | None = None
    not_made: tuple[Run, ...] = ()


class _End(Value):
    end: _EndFacts


class RecordedRun(NamedTuple):
    """A run with its trajectory, or None where it could not run."""

    run: Run
    trajectory: Trajectory | None


class BundleSummary(NamedTuple):
    """A bundle read through once, without its trajectories: header, runs by scenario and order, and whether it is finished."""

    header: BatchHeader
    runs: tuple[Run, ...]
    is_finished: bool
    truncated_reason: str | None

    @property
    def batch(self) -> Batch:
        """The batch that it stands for: equal content gives an equal id."""
        return tallied(self.runs).batch(self.header, truncated_reason=self.truncated_reason)


class BundleWriter:
    """Writes one bundle. Use it as a context manager; leaving it does not finish the bundle, `finish` does."""

    def __init__(self, file: FileIO, path: Path, *, syncs_each_run: bool = True) -> None:
        self._file = file
        self._syncs_each_run = syncs_each_run
        self.path = path

    def add(self, run: Run, trajectory: Trajectory | None) -> None:
        """Write one finished run; it is durable when this returns.

        Raises:
            InputError: a text holds a lone surrogate, which JSON cannot hold.
            StorageUnavailableError: the disk does not take it; what was written before stays.
        """
        self._append(_Recorded(run=run, trajectory=trajectory), sync=self._syncs_each_run)

    def finish(self, *, truncated_reason: str | None = None, not_made: Sequence[Run] = ()) -> None:
        """Write the end line. `not_made` are the planned runs that are missing, where something stopped the batch."""
        self._append(_End(end=_EndFacts(truncated_reason=truncated_reason, not_made=tuple(not_made))))

    def close(self) -> None:
        """Close the file; calling it twice is fine."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _append(self, line: Value, *, sync: bool = True) -> None:
        data = canonical_json(line.model_dump(mode="json")) + b"\n"
        begins_at = self._file.tell()
        try:
            left = memoryview(data)
            while left:  # a disk that runs full takes a part
                left = left[self._file.write(left) or 0 :]
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # half a line would spoil the next one
                self._file.truncate(begins_at)
                self._file.seek(begins_at)
            raise StorageUnavailableError(f"{self.path} cannot be written: {error.strerror or error}.") from error


def new_bundle(path: Path, header: BatchHeader, *, syncs_each_run: bool = True) -> BundleWriter:
    """Begin a bundle at a path where there is no file yet.

    `syncs_each_run` is False for who could write the whole of it again at no cost, as an import can; the end is synced always.

    Raises:
        BundleError: there is one, or it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("xb", buffering=0)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise BundleError(f"cannot be begun: {getattr(error, 'strerror', None) or error}.", file=path) from error
    writer = BundleWriter(_locked(file, path), path, syncs_each_run=syncs_each_run)
    writer._append(_Begin(bundle="bundle.v1", header=header))
    return writer


def reopened_bundle(path: Path) -> BundleWriter:
    """Go on with a bundle that is open or truncated: a last line that a kill left half written, and the end line, are cut off.

    Raises:
        BundleError: it is finished with every run it planned, it is no bundle, or another process is recording into it.
    """
    try:
        file = path.open("r+b", buffering=0)
    except OSError as error:
        raise BundleError(f"cannot be written: {error.strerror or error}.", file=path) from error
    _locked(file, path)
    try:
        summary = read_bundle(path)
        if summary.is_finished and summary.truncated_reason is None:
            raise BundleError("is finished: nothing can be added to it.", file=path)
        file.truncate(sum(len(line) for _, line in _lines(path) if not line.startswith(END_LINE)))
        file.seek(0, os.SEEK_END)
    except BaseException:
        file.close()
        raise
    return BundleWriter(file, path)


def read_bundle(path: Path) -> BundleSummary:
    """Read a bundle through once; its trajectories are checked and not kept.

    Raises:
        BundleError: with the line, what is wrong there; the same run recorded twice is refused as well.
    """
    reader = BundleReader(path)
    runs = {(run.scenario_id, run.order): run for _, run, _ in reader.recorded()}
    ordered = tuple(runs[key] for key in sorted(runs))
    return BundleSummary(reader.header, ordered, reader.is_finished, reader.batch.truncated_reason)


def read_header(path: Path) -> BatchHeader:
    """Return a bundle's header. Raises BundleError where the file is no bundle or cannot be read."""
    number, line = next(_lines(path), (1, b""))
    return _checked(_Begin, line, path, number).header


def recorded_runs(path: Path) -> Iterator[RecordedRun]:
    """Iterate over a bundle's runs with their trajectories, in the order of the file; one is in memory at a time.

    Runs that were not made come last and have none. Raises BundleError.
    """
    for number, line in _lines(path, first=2):
        if line.startswith(END_LINE):
            yield from (RecordedRun(run, None) for run in _checked(_End, line, path, number).end.not_made)
        else:
            recorded = _checked(_Recorded, line, path, number)
            yield RecordedRun(recorded.run, recorded.trajectory)


def runs_alone(path: Path) -> Iterator[Run]:
    """Iterate over a bundle's runs as `recorded_runs` does, passing their trajectories over unread, which is much faster.

    Raises BundleError.
    """
    for number, line in _lines(path, first=2):
        if line.startswith(END_LINE):
            yield from _checked(_End, line, path, number).end.not_made
        else:
            yield _checked(_RecordedRunAlone, line, path, number).run


def content_digest(header: BatchHeader, runs: Iterable[Run]) -> str:
    """Return the digest of a batch's content, in whatever order its runs come; when it was recorded is no part of it."""
    return tallied(runs).content_digest(header)


class NumberedRun(NamedTuple):
    """A run with the 1-based line that it stands in, and its trajectory, or None where it could not run."""

    line: int
    run: Run
    trajectory: Trajectory | None


class BundleReader:
    """Reads a bundle through, one run in memory at a time, and checks and counts it as a whole.

    Attributes:
        header: what its first line says.
        is_finished: whether its end line was read.

    Raises:
        BundleError: the file is no bundle or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = read_header(path)
        self.is_finished = False
        self._end = _EndFacts()
        self._tally = BatchTally()

    @property
    def batch(self) -> Batch:
        """The batch of the runs that were read; that of the bundle once it was read to its end."""
        return self._tally.batch(self.header, truncated_reason=self._end.truncated_reason)

    def recorded(self) -> Iterator[NumberedRun]:
        """Iterate over the runs in the order of the file; those that were not made come last. A reader is read once.

        Raises:
            BundleError: with the line, what is wrong there; the same run recorded twice is refused as well.
        """
        for number, line in _lines(self.path, first=2):
            if self.is_finished:
                raise BundleError("goes on after its end line.", file=self.path, line=number)
            if line.startswith(END_LINE):
                self._end, self.is_finished = _checked(_End, line, self.path, number).end, True
                yield from (self._counted(NumberedRun(number, run, None)) for run in self._end.not_made)
            else:
                recorded = _checked(_Recorded, line, self.path, number)
                yield self._counted(NumberedRun(number, recorded.run, recorded.trajectory))

    def _counted(self, numbered: NumberedRun) -> NumberedRun:
        try:
            self._tally.add(numbered.run)
        except InputError as error:
            raise BundleError(error.rule, file=self.path, line=numbered.line) from None
        return numbered


def _lines(path: Path, *, first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Iterate over the whole lines from line `first` on, with their numbers; a last line without its newline was never finished."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if number >= first and line.endswith(b"\n"):
                    yield number, line
    except OSError as error:
        raise BundleError(f"cannot be read: {error.strerror or error}.", file=path) from error


def _locked(file: FileIO, path: Path) -> FileIO:
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise BundleError("is being recorded by another process.", file=path) from None
    return file


def _checked(kind: type[V], line: bytes, path: Path, number: int) -> V:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or None
        raise BundleError(f"is no line of a bundle: {problem['msg']}.", file=path, line=number, field=where) from None
