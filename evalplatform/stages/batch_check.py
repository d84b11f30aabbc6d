"""Checking a folder of arms.v1 files as one batch: which files are of it, what they hold, and whether they are what they should be."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalplatform.arms.kinds.profile import read_profile
from evalplatform.comparisons.batch_check import BatchFile
from evalplatform.comparisons.batch_findings import NotReadable, Rejected
from evalplatform.comparisons.batch_rules import ProfileNow
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.reports.arms_v1_file import REJECTED_SUFFIX, loaded_json
from evalplatform.reports.arms_v1_wire import SCHEMA_VERSION
from evalplatform.reports.compared_run_file import compared_run_of

ANY_VERSION = f"{SCHEMA_VERSION.partition('.')[0]}."
UNFINISHED_ENDINGS = (".partial", ".tmp")


class SkippedFile(Value):
    """A file that is not of the batch, and why."""

    file: str
    why: str


@dataclass(frozen=True)
class BatchFolder:
    """The files of a batch in the order of their names, and what else lies beside them."""

    files: tuple[BatchFile, ...]
    skipped: tuple[SkippedFile, ...]

    @property
    def skipped_pairs(self) -> list[tuple[str, str]]:
        """What is not of the batch, with the reason beside it."""
        return [(skipped.file, skipped.why) for skipped in self.skipped]


def read_batch_folder(folder: Path) -> BatchFolder:
    """Read a folder's arms.v1 files; folders in it are not looked into.

    A `*.json` that cannot be read, and a result that its writer rejected, are files of the batch: what should be there is not. A file of
    another schema and a write that did not finish are skipped by name.

    Raises:
        InputError: there is no such folder, it cannot be read, or nothing in it is of a batch.
    """
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
    except OSError as error:
        rule = "is no folder." if isinstance(error, FileNotFoundError | NotADirectoryError) else f"cannot be read: {error.strerror}."
        raise InputError(rule, file=folder) from error
    read = [_read(folder, name) for name in names]
    found = BatchFolder(
        files=tuple(file for file in read if isinstance(file, BatchFile)),
        skipped=tuple(file for file in read if isinstance(file, SkippedFile)),
    )
    if not found.files:
        beside = f" ({found.skipped[0].file}: {found.skipped[0].why})" if found.skipped else ""
        raise InputError(f"holds no {SCHEMA_VERSION} file{beside}.", file=folder)
    return found


def files_of_batch(folder: Path) -> list[Path]:
    """Return the files that `read_batch_folder` would look at, those among them that it skips too; none where it would raise."""
    try:
        return [path for path in folder.iterdir() if ".json" in path.name]
    except OSError:
        return []


def profile_now(path: Path) -> ProfileNow:
    """Return a profile's file with the digest of the prompt that it gives now, as an arm would send it.

    Raises:
        TreatmentFileError: the file is missing, unreadable, or has no body.
    """
    _, prompt = read_profile(str(path), base_folder=Path.cwd())
    return ProfileNow(path=str(path), prompt_digest=prompt.digest)


def _read(folder: Path, name: str) -> BatchFile | SkippedFile | None:
    if name.endswith(UNFINISHED_ENDINGS) and ".json" in name:
        return SkippedFile(file=name, why="a write that did not finish")
    if name.endswith(f".json{REJECTED_SUFFIX}"):
        return BatchFile(name=name, run=Rejected())
    if not name.endswith(".json") or name.startswith("."):
        return None
    try:
        data = loaded_json(folder / name)
    except InputError as error:
        return BatchFile(name=name, run=NotReadable(problem=_problem(error)))
    if (why := _other_schema(data)) is not None:
        return SkippedFile(file=name, why=why)
    stated = dict(_stated_deltas(data))
    try:
        return BatchFile(name=name, run=compared_run_of(data, path=folder / name, name=name), stated_deltas_points=stated)
    except InputError as error:
        return BatchFile(name=name, run=NotReadable(problem=_problem(error)))


def _problem(error: InputError) -> str:
    """Return the error without the file, which the report names."""
    return str(InputError(error.rule, line=error.line, field=error.field, nearest=error.nearest))


def _other_schema(data: object) -> str | None:
    """Return what the file is instead of an arms.v1 one; None for those that say they are, and for those that look like one."""
    if not isinstance(data, dict):
        return "no object, so of another schema"
    stated = data.get("schema_version")
    if stated is None:
        return None if "arms" in data or "answers" in data else "states no schema, and has neither arms nor answers"
    is_of_kind = isinstance(stated, str) and stated.startswith(ANY_VERSION)  # the reader says what is wrong with another version
    return None if is_of_kind else f"states the schema {stated}"


def _stated_deltas(data: object) -> Iterator[tuple[str, float]]:
    """Yield each arm's own delta, as far as the file states any; what it computed is no input, so what is odd there is passed over."""
    summary = data.get("summary") if isinstance(data, dict) else None
    per_arm = summary.get("per_arm") if isinstance(summary, dict) else None
    for arm, block in per_arm.items() if isinstance(per_arm, dict) else ():
        stated = block.get("delta_vs_baseline") if isinstance(block, dict) else None
        if isinstance(stated, int | float) and not isinstance(stated, bool):
            yield str(arm), float(stated)
