"""Checking a folder of arms.v1 files as one batch: which files are of it, what they hold, and whether they are what they should be."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import from_json

from evalplatform.arms.kinds.profile import read_profile
from evalplatform.comparisons.batch_check import BatchFile
from evalplatform.comparisons.batch_findings import NoRun, NotReadable, Rejected
from evalplatform.comparisons.batch_rules import ProfileNow, expected_count
from evalplatform.kernel.errors import InputError, TreatmentFileError
from evalplatform.kernel.values import Value
from evalplatform.reports.arms_v1_file import REJECTED_SUFFIX, loaded_json
from evalplatform.reports.arms_v1_wire import SCHEMA_VERSION
from evalplatform.reports.compared_run_file import compared_run_of

ANY_VERSION = f"{SCHEMA_VERSION.partition('.')[0]}."
UNFINISHED_ENDINGS = (".partial", ".tmp")
_NAME = re.compile(r"(?:\._|\.)?(?P<stem>.+)\.json(?![a-z0-9])", re.IGNORECASE)


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


def read_batch_folder(folder: Path, *, expected_questions: Mapping[str, int], outputs: Iterable[Path] = ()) -> BatchFolder:
    """Read a folder's arms.v1 files; folders in it are not looked into.

    What should be there and is not is a file of the batch too: a `*.json` that cannot be read, a result that its writer rejected, a link
    that leads nowhere, and whatever has the name of a file of the batch and is none (a folder, a hidden, packed or unfinished file,
    another schema). Everything else is skipped by name.

    Args:
        folder: where the batch lies.
        expected_questions: the suffixes that names of the batch end in. A variant of a name, such as `a_golden.json.gz` of
            `a_golden.json`, counts where the file itself is missing.
        outputs: what is written there, which is left out.

    Raises:
        InputError: there is no such folder, it cannot be read, or nothing in it is of a batch.
    """
    try:
        own = {os.path.realpath(path) for path in outputs}  # unlike Path.resolve, it bears with links that lead to each other
        paths = sorted(path for path in folder.iterdir() if os.path.realpath(path) not in own)
        names = {path.name for path in paths}
        read = [_read(path, names, expected_questions) for path in paths]
    except OSError as error:
        rule = "is no folder." if isinstance(error, FileNotFoundError | NotADirectoryError) else f"cannot be read: {error.strerror}."
        raise InputError(rule, file=folder) from error
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
        return [path for path in folder.iterdir() if ".json" in path.name.lower()]
    except OSError:
        return []


def profile_now(path: Path) -> ProfileNow:
    """Return a profile's file with the digest of the prompt that it gives now, as an arm would send it.

    Raises:
        TreatmentFileError: the file is missing, unreadable, has no body, or holds JSON, such as the question set.
    """
    _, prompt = read_profile(str(path), base_folder=Path.cwd())
    if _is_json(prompt.text):
        raise TreatmentFileError("holds JSON; a profile is the text of a system prompt.", file=path)
    return ProfileNow(path=str(path), prompt_digest=prompt.digest)


def _is_json(text: str) -> bool:
    """Return whether the text is a JSON object or list, or such lines."""
    if not text.startswith(("{", "[")):
        return False
    for values in ([text], [line for line in text.splitlines() if line.strip()]):
        with suppress(ValueError):
            return all(isinstance(from_json(value), dict | list) for value in values)
    return False


def _read(path: Path, names: Collection[str], expected_questions: Mapping[str, int]) -> BatchFile | SkippedFile:
    name = path.name
    if path.is_symlink() and not path.exists():
        return BatchFile(name=name, run=NoRun(what="a link that leads nowhere"))
    if name.endswith(f".json{REJECTED_SUFFIX}") and path.is_file():
        return BatchFile(name=name, run=Rejected())
    read = _no_json(path) or _run(path)
    if isinstance(read, BatchFile):
        return read
    suffix = _stands_for(name, names, expected_questions)
    return SkippedFile(file=name, why=read) if suffix is None else BatchFile(name=name, run=NoRun(what=read, suffix=suffix))


def _no_json(path: Path) -> str | None:
    """Return why something in the folder is not read as JSON; None for what is."""
    if path.is_dir():
        return "a folder"
    if not path.is_file():
        return "no regular file"
    if path.name.endswith(UNFINISHED_ENDINGS) and ".json" in path.name:
        return "a write that did not finish"
    if path.name.startswith("."):
        return "a hidden file"
    return None if path.name.endswith(".json") else "its name does not end in .json"


def _stands_for(name: str, names: Collection[str], expected_questions: Mapping[str, int]) -> str | None:
    """Return the suffix of the batch that a name ends in, where the file that it is a variant of is missing."""
    match = _NAME.match(name)
    if match is None:
        return None
    plain = f"{match['stem']}.json"
    expected = expected_count(plain, expected_questions)
    return None if expected is None or (plain != name and plain in names) else expected.suffix


def _run(path: Path) -> BatchFile | str:
    """Return the file of the batch, readable or not; of a JSON file of another kind what it is instead."""
    name = path.name
    try:
        data = loaded_json(path)
        if (why := _other_schema(data)) is not None:
            return why
        run = compared_run_of(data, path=path, name=name)
    except InputError as error:
        return BatchFile(name=name, run=NotReadable(problem=_problem(error)))
    return BatchFile(name=name, run=run, stated_deltas_points=dict(_stated_deltas(data)))


def _problem(error: InputError) -> str:
    """Return the error without the file, which the report names."""
    return str(InputError(error.rule, line=error.line, field=error.field, nearest=error.nearest))


def _other_schema(data: object) -> str | None:
    """Return what the file is instead of an arms.v1 one; None for those that say they are, and for those that look like one."""
    if not isinstance(data, dict):
        return "it is no object, so of another schema"
    stated = data.get("schema_version")
    if stated is None:
        return None if "arms" in data or "answers" in data else "it states no schema, and has neither arms nor answers"
    is_of_kind = isinstance(stated, str) and stated.startswith(ANY_VERSION)  # the reader says what is wrong with another version
    return None if is_of_kind else f"it states the schema {stated}"


def _stated_deltas(data: object) -> Iterator[tuple[str, float]]:
    """Yield each arm's own delta, as far as the file states any; what it computed is no input, so what is odd there is passed over."""
    summary = data.get("summary") if isinstance(data, dict) else None
    per_arm = summary.get("per_arm") if isinstance(summary, dict) else None
    for arm, block in per_arm.items() if isinstance(per_arm, dict) else ():
        stated = block.get("delta_vs_baseline") if isinstance(block, dict) else None
        if isinstance(stated, int | float) and not isinstance(stated, bool):
            yield str(arm), float(stated)
