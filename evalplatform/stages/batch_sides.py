"""One side of a comparison: a batch of the store, or a bundle that was never pushed. Both give a batch, its runs and their trajectories."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from evalplatform.artifacts.blobs import get_blob
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.kernel.errors import BundleError, InputError, ObjectNotFoundError
from evalplatform.ports.batches import BatchStore
from evalplatform.ports.object_store import ObjectStore
from evalplatform.runs.bundle import BUNDLE_ENDING, BundleReader, NumberedRun, recorded_runs
from evalplatform.runs.contradiction import contradiction
from evalplatform.runs.records import Batch, Run
from evalplatform.runs.storable_text import NUL
from evalplatform.runs.trajectory import Trajectory, trajectory_bytes

FEWEST_ID_CHARS = 4
IDS_NAMED = 5
ReadTrajectory = Callable[[str], Trajectory | None]
"""Returns the trajectory with a digest; None where it is no longer kept."""


class BatchSide(NamedTuple):
    """A side, and how to open trajectories of it: those with the given digests are read while the context is open."""

    runs: BatchRuns
    open_trajectories: Callable[[Collection[str]], AbstractContextManager[ReadTrajectory]]

    @property
    def batch(self) -> Batch:
        """The batch."""
        return self.runs.batch


def is_bundle_path(argument: str) -> bool:
    """Return whether an argument names a bundle's file and no batch id: it ends as bundles do, holds a `/`, or is a file.

    What no file can be named, for its length or a NUL, names none.
    """
    if NUL in argument:
        return False
    return argument.endswith(BUNDLE_ENDING) or "/" in argument or _is_file(argument)


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except OSError:  # longer than a file system takes
        return False


def matching_id(name: str, ids: Sequence[str]) -> str:
    """Return the id that `name` is, or the only one that begins or ends with it, such as the 8 digits at an id's end.

    What matches none is returned as it is. Fewer than 4 characters match only as a whole.

    Raises:
        InputError: several begin or end with it; it names them.
    """
    if name in ids or len(name) < FEWEST_ID_CHARS:
        return name
    found = [batch_id for batch_id in ids if batch_id.startswith(name) or batch_id.endswith(name)]
    if len(found) > 1:
        more = f" and {len(found) - IDS_NAMED:,} more" if len(found) > IDS_NAMED else ""
        raise InputError(f"{name!r} can be any of these batches: {', '.join(found[:IDS_NAMED])}{more}.")
    return found[0] if found else name


def stored_side(batch_id: str, *, batches: BatchStore, objects: ObjectStore) -> BatchSide:
    """Return a stored batch as a side.

    Raises:
        UnknownNameError: there is no such batch, with the nearest id.
        InputError: it is a batch of another project.
    """

    @contextmanager
    def opened(digests: Collection[str]) -> Iterator[ReadTrajectory]:
        yield lambda digest: _stored_trajectory(objects, digest)

    return BatchSide(BatchRuns(batches.batch(batch_id), lambda: batches.runs(batch_id)), opened)


def bundle_side(path: Path) -> BatchSide:
    """Return a finished bundle as a side; its runs are in memory, its trajectories are not.

    Raises:
        BundleError: it is no bundle, it cannot be read, it is not finished, or a run of it does not fit the trajectory beside it.
    """
    reader = BundleReader(path)
    runs = sorted((_checked_run(recorded, path) for recorded in reader.recorded()), key=attrgetter("scenario_id", "order"))
    if not reader.is_finished:
        raise BundleError(
            "is not finished, so it is no batch yet: the command that recorded it goes on with `--out` and its name.", file=path
        )

    @contextmanager
    def opened(digests: Collection[str]) -> Iterator[ReadTrajectory]:
        wanted = frozenset(digests)
        with TemporaryDirectory(prefix="evalplatform-diff-") as folder:
            for recorded in recorded_runs(path) if wanted else ():
                if recorded.trajectory is not None and recorded.run.trajectory_digest in wanted:
                    _place(folder, recorded.run.trajectory_digest).write_bytes(trajectory_bytes(recorded.trajectory))
            yield lambda digest: _laid_down_trajectory(folder, digest)

    return BatchSide(BatchRuns(reader.batch, lambda: iter(runs)), opened)


def _checked_run(recorded: NumberedRun, path: Path) -> Run:
    problem = contradiction(recorded.run, recorded.trajectory)
    if problem is not None:
        raise BundleError(problem, file=path, line=recorded.line)
    return recorded.run


def _stored_trajectory(objects: ObjectStore, digest: str) -> Trajectory | None:
    try:
        return Trajectory.model_validate_json(get_blob(objects, digest))
    except ObjectNotFoundError:
        return None


def _laid_down_trajectory(folder: str, digest: str) -> Trajectory | None:
    place = _place(folder, digest)
    return Trajectory.model_validate_json(place.read_bytes()) if place.exists() else None


def _place(folder: str, digest: str | None) -> Path:
    return Path(folder, str(digest).removeprefix("sha256:"))
