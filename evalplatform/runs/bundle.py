"""A bundle: the file that a batch is recorded in, line by line, while it runs.

    {"bundle": "bundle.v1", "header": {...}, "recording": "..."}
    {"run": {...}, "trajectory": {...} | null}      one line a run, durable the moment the run ends
    {"end": {"truncated_reason": null, "not_made": []}}    a bundle without its end is still open

`not_made` lists the planned runs that a spend cap or another stop left unmade, as `ungraded` runs: they stand in the end line, so that who
goes on with a truncated bundle has only that line to take away.

A line is written and synced before anything goes on, so a kill loses no finished run: what it may leave is a last line that is not whole,
which the next writer leaves out. The order of the runs in the file is the order they ended in; readers sort. The writer holds a lock of the
operating system on the file, so that two processes never record into one bundle.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from evalplatform.kernel.digests import canonical_json
from evalplatform.kernel.errors import BundleError, InputError, StorageUnavailableError
from evalplatform.kernel.values import Value
from evalplatform.runs.batch_tally import BatchTally, tallied
from evalplatform.runs.bundle_file import (
    BEGIN_LINE,
    END_LINE,
    BeginLine,
    EndFacts,
    EndLine,
    RunAloneLine,
    RunLine,
    checked_line,
    lines_of,
    locked,
    nothing_recorded,
    write_whole,
)
from evalplatform.runs.records import Batch, BatchHeader, Run
from evalplatform.runs.trajectory import Trajectory

BUNDLE_ENDING = ".jsonl"


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
    def could_not_run(self) -> int:
        """How many of its runs could not run at all: who goes on with the bundle makes them again."""
        return sum(could_not_run(run) for run in self.runs)

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing to go on with: it is finished, every run that it planned was made, and all of them could run.

        One that is truncated for another reason than missing runs is whole too: going on would take that reason away, and add nothing.
        """
        return self.is_finished and all(run.was_made and not could_not_run(run) for run in self.runs)

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
        self._append(RunLine(run=run, trajectory=trajectory), sync=self._syncs_each_run)

    def finish(self, *, truncated_reason: str | None = None, not_made: Sequence[Run] = ()) -> None:
        """Write the end line. `not_made` are the planned runs that are missing, where something stopped the batch."""
        self._append(EndLine(end=EndFacts(truncated_reason=truncated_reason, not_made=tuple(not_made))))

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
            write_whole(self._file, data)
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # half a line would spoil the next one
                self._file.truncate(begins_at)
                self._file.seek(begins_at)
            raise StorageUnavailableError(f"{self.path} cannot be written: {error.strerror or error}.") from error


def new_bundle(path: Path, header: BatchHeader, *, recording: str | None = None, syncs_each_run: bool = True) -> BundleWriter:
    """Begin a bundle at a path where there is no file yet, or one in which nothing was recorded.

    `recording` is the key that `read_recording` returns. `syncs_each_run` is False for who could write the whole of it again at no cost,
    as an import can; the end is synced always.

    Raises:
        BundleError: there is one, or it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("r+b" if nothing_recorded(path) else "xb", buffering=0)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise BundleError(f"cannot be begun: {getattr(error, 'strerror', None) or error}.", file=path) from error
    writer = BundleWriter(locked(file, path), path, syncs_each_run=syncs_each_run)
    if not nothing_recorded(path):  # somebody was faster
        writer.close()
        raise BundleError("cannot be begun: File exists.", file=path)
    file.truncate(0)
    writer._append(BeginLine(bundle="bundle.v1", header=header, recording=recording))
    return writer


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
    return _begin_line(path).header


def _begin_line(path: Path) -> BeginLine:
    number, line = next(lines_of(path), (1, b""))
    if line.startswith(BEGIN_LINE):
        return checked_line(BeginLine, line, path, number)
    raise BundleError(
        "is no bundle: `evalplatform run` and `evalplatform import` write bundles, and what other tools recorded is for `import`.",
        file=path,
        line=1,
    )


def read_recording(path: Path) -> str | None:
    """Return the random key that a bundle was begun with, or None where it has none. Raises as `read_header` does."""
    return _begin_line(path).recording


def recorded_runs(path: Path) -> Iterator[RecordedRun]:
    """Iterate over a bundle's runs with their trajectories, in the order of the file; one is in memory at a time.

    Runs that were not made come last and have none. Raises BundleError.
    """
    for number, line in lines_of(path, first=2):
        if line.startswith(END_LINE):
            yield from (RecordedRun(run, None) for run in checked_line(EndLine, line, path, number).end.not_made)
        else:
            recorded = checked_line(RunLine, line, path, number)
            yield RecordedRun(recorded.run, recorded.trajectory)


def runs_alone(path: Path) -> Iterator[Run]:
    """Iterate over a bundle's runs as `recorded_runs` does, passing their trajectories over unread, which is much faster.

    Raises BundleError.
    """
    for number, line in lines_of(path, first=2):
        if line.startswith(END_LINE):
            yield from checked_line(EndLine, line, path, number).end.not_made
        else:
            yield checked_line(RunAloneLine, line, path, number).run


def could_not_run(run: Run) -> bool:
    """Return whether a run is to be made again. One that has cost something did run, though what it did could not be kept."""
    return run.outcome == "harness_error" and run.cost_usd is None


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
        self._end = EndFacts()
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
        for number, line in lines_of(self.path, first=2):
            if self.is_finished:
                raise BundleError("goes on after its end line.", file=self.path, line=number)
            if line.startswith(END_LINE):
                self._end, self.is_finished = checked_line(EndLine, line, self.path, number).end, True
                yield from (self._counted(NumberedRun(number, run, None)) for run in self._end.not_made)
            else:
                recorded = checked_line(RunLine, line, self.path, number)
                yield self._counted(NumberedRun(number, recorded.run, recorded.trajectory))

    def _counted(self, numbered: NumberedRun) -> NumberedRun:
        try:
            self._tally.add(numbered.run)
        except InputError as error:
            raise BundleError(error.rule, file=self.path, line=numbered.line) from None
        return numbered
