"""Read a file of human labels, all of it or nothing, with every row that cannot be used named."""

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import ParamSpec, TypeVar

from evalplatform.kernel.csv_text import decoded_text
from evalplatform.kernel.digests import bytes_digest
from evalplatform.kernel.errors import LabelFileError
from evalplatform.kernel.text import plural
from evalplatform.labels.cells import NO_LABELLER, NO_SCALE, read_labeller, read_points, read_scale, read_subject, read_time, read_verdict
from evalplatform.labels.columns import (
    ANSWER_DIGEST,
    COLUMNS,
    JUDGEMENTS,
    LABEL_POINTS,
    LABEL_VERDICT,
    LABELLED_AT,
    LABELLER,
    SCALE,
    SUBJECT,
    VALUE,
)
from evalplatform.labels.records import LabelDefaults, LabelFile, ReadLabel
from evalplatform.labels.rows import RawRow, raw_rows
from evalplatform.ports.labels import Label, Scale, Verdict

SHOWN_PROBLEMS = 20
MISSPELT_RATIO = 0.85
"""A column this like one of ours (difflib) that the file lacks is taken for a slip, since passing it over would lose labels."""

P = ParamSpec("P")
T = TypeVar("T")


def read_labels(data: bytes, *, file: str, defaults: LabelDefaults) -> LabelFile:
    """Return the labels of a file; each is there once, however often the file says it.

    The ending decides the format: `.csv` or `.jsonl` (`.ndjson`). A row names its subject by `answer_digest`, or by `subject` with
    `subject_kind` (`answer` or `run`). A judgement stands under `label_points` (0-100), under `label_verdict` (passed or failed), or under
    `value` with a `scale`. A row without a judgement is passed over and counted, as are columns that are no part of a label.

    Args:
        data: the file's bytes: UTF-8, with or without a byte order mark.
        file: the file's name as messages say it.
        defaults: what rows do not say themselves.

    Raises:
        LabelFileError: nothing can be used where one row cannot: each row's problem with its line, column and rule, the first 20 of them.
    """
    raw = raw_rows(decoded_text(data, file=file, error=LabelFileError), file=file, suffix=PurePath(file).suffix.lower())
    problems = _Problems(raw.problems)
    if not problems:
        _check_columns(set(raw.columns), defaults, file=file)
    judged = [row for row in raw.rows if any(column in row.values for column in JUDGEMENTS)]
    labels, repeated = _each_once((found for row in judged for found in _labels_of(row, defaults, problems)), problems, file=file)
    refuse_problems(problems, file=file)
    return LabelFile(
        file=file,
        digest=bytes_digest(data),
        rows=len(raw.rows),
        unjudged_rows=len(raw.rows) - len(judged),
        repeated=repeated,
        labels=tuple(labels),
        passed_over=tuple(column for column in raw.columns if column not in COLUMNS),
    )


def refuse_problems(problems: Sequence[LabelFileError], *, file: str) -> None:
    """Raise the problem, or one error that lists the first 20 by line; return where there is none."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        shown = sorted(problems, key=lambda problem: problem.line or 0)[:SHOWN_PROBLEMS]
        rest = len(problems) - len(shown)
        lines = [*(f"  {problem}" for problem in shown), *([f"  and {rest:,} more."] if rest else [])]
        raise LabelFileError("\n".join([f"{plural(len(problems), 'problem')}, so nothing was imported:", *lines]), file=file)


def _check_columns(columns: set[str], defaults: LabelDefaults, *, file: str) -> None:
    """Refuse a file that lacks a column every row needs: one message, not one a row."""
    for column in columns.difference(COLUMNS):
        for ours in set(COLUMNS).difference(columns):
            if SequenceMatcher(None, column.casefold(), ours).ratio() >= MISSPELT_RATIO:
                raise LabelFileError("is no column of a file of labels.", file=file, field=column, nearest=ours)
    if not columns & {ANSWER_DIGEST, SUBJECT}:
        raise LabelFileError("is missing, so it is not said which answers were judged.", file=file, field=ANSWER_DIGEST)
    if not columns.intersection(JUDGEMENTS):
        judges = " (`points` are a judge's)" if "points" in columns else ""
        raise LabelFileError(f"has no column of judgements: {', '.join(JUDGEMENTS[:-1])} or {JUDGEMENTS[-1]}{judges}.", file=file)
    if LABELLER not in columns and defaults.labeller is None:
        raise LabelFileError(NO_LABELLER, file=file, field=LABELLER)
    if VALUE in columns and SCALE not in columns and defaults.scale is None:
        raise LabelFileError(NO_SCALE, file=file, field=SCALE)


class _Problems(list[LabelFileError]):
    """What is wrong with a file, in the order it was found."""

    def read(self, part: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return what `part` reads, or None with its problem noted."""
        try:
            return part(*args, **kwargs)
        except LabelFileError as problem:
            self.append(problem)
            return None


def _labels_of(row: RawRow, defaults: LabelDefaults, problems: _Problems) -> Iterator[ReadLabel]:
    """Yield the labels of a row that holds a judgement; what is wrong with it goes to `problems`."""
    subject = problems.read(read_subject, row)
    labeller = problems.read(read_labeller, row, defaults)
    labelled_at = problems.read(read_time, row, defaults)
    judgements = [problems.read(_judgement, row, column, defaults) for column in JUDGEMENTS if column in row.values]
    if subject is None or labeller is None or labelled_at is None:
        return
    for judgement in judgements:
        if judgement is not None:
            kind, name = subject
            scale, value = judgement
            label = Label(subject_kind=kind, subject=name, labeller=labeller, scale=scale, value=value, labelled_at=labelled_at)
            yield ReadLabel(label=label, line=row.line, is_dated=LABELLED_AT in row.values)


def _judgement(row: RawRow, column: str, defaults: LabelDefaults) -> tuple[Scale, float | Verdict]:
    scales: dict[str, Scale] = {LABEL_POINTS: "points", LABEL_VERDICT: "verdict"}
    scale = read_scale(row, defaults) if column == VALUE else scales[column]
    return scale, read_points(row, column) if scale == "points" else read_verdict(row, column)


def _each_once(found: Iterator[ReadLabel], problems: _Problems, *, file: str) -> tuple[list[ReadLabel], int]:
    """Return every label once, and how many say again what an earlier one said; two values at one time are a problem."""
    kept: dict[tuple[object, ...], ReadLabel] = {}
    repeated = 0
    for read in found:
        label = read.label
        first = kept.setdefault((label.subject_kind, label.subject, label.labeller, label.scale, label.labelled_at), read)
        if first is not read and first.label.value == label.value:
            repeated += 1
        elif first is not read:
            rule = f"{label.value!r} contradicts {first.label.value!r} on line {first.line}: one labeller, one answer, one time."
            problems.append(LabelFileError(rule, file=file, line=read.line))
    return list(kept.values()), repeated
