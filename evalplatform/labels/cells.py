"""What one cell of a file of labels means, or why it means nothing."""

import re
from datetime import UTC, datetime
from typing import cast, get_args

from evalplatform.kernel.errors import nearest_name
from evalplatform.kernel.text import clip
from evalplatform.labels.columns import ANSWER_DIGEST, LABELLED_AT, LABELLER, SCALE, SUBJECT, SUBJECT_KIND
from evalplatform.labels.records import LabelDefaults
from evalplatform.labels.rows import RawRow
from evalplatform.ports.labels import MAX_POINTS, ONE_LINE, Scale, SubjectKind, Verdict

VERDICTS: dict[str, Verdict] = {"passed": "passed", "pass": "passed", "failed": "failed", "fail": "failed"}
"""The spellings of a verdict that are read, in upper or lower case. Others, such as yes or 1, answer a question that nobody can see."""

NO_LABELLER = f"is missing: name who judged in a column {LABELLER}, or for all rows with --labeller."
NO_SCALE = f"is missing: say {' or '.join(get_args(Scale))} in a column {SCALE}, or for all rows with --scale."
SHOWN_CHARS = 60
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_ONE_LINE = re.compile(ONE_LINE.removesuffix("$"))


def read_subject(row: RawRow) -> tuple[SubjectKind, str]:
    """Return what a row is about. Raises LabelFileError, as every function here does where a cell cannot be used."""
    if ANSWER_DIGEST in row.values and SUBJECT in row.values:
        raise row.problem(SUBJECT, f"stands beside {ANSWER_DIGEST}; a label has one subject.")
    if SUBJECT not in row.values:
        if ANSWER_DIGEST not in row.values:
            raise row.problem(ANSWER_DIGEST, "is empty, so it is not said which answer was judged.")
        return "answer", _answer_digest(row, ANSWER_DIGEST)
    kind = _text(row, SUBJECT_KIND) if SUBJECT_KIND in row.values else "answer"
    if kind not in get_args(SubjectKind):
        raise _none_of(row, SUBJECT_KIND, kind, get_args(SubjectKind))
    subject = _answer_digest(row, SUBJECT) if kind == "answer" else _text(row, SUBJECT)
    return cast("SubjectKind", kind), subject


def read_labeller(row: RawRow, defaults: LabelDefaults) -> str:
    """Return who labelled: the row's word, or else the default."""
    if LABELLER in row.values:
        return _text(row, LABELLER)
    if defaults.labeller is None:
        raise row.problem(LABELLER, NO_LABELLER)
    return defaults.labeller


def read_time(row: RawRow, defaults: LabelDefaults) -> datetime:
    """Return when it was labelled, in UTC: the row's word, or else now."""
    if LABELLED_AT not in row.values:
        return defaults.now
    text = _text(row, LABELLED_AT)
    try:
        moment = datetime.fromisoformat(text)
        in_utc = None if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise row.problem(LABELLED_AT, f"{_shown(text)} is no time; write it as in 2026-01-31T14:30:00Z.") from None
    if in_utc is None:
        raise row.problem(LABELLED_AT, f"{_shown(text)} has no time zone; write it as in 2026-01-31T14:30:00Z or +02:00.")
    if in_utc > defaults.now:
        raise row.problem(LABELLED_AT, f"{_shown(text)} is still to come; the latest label counts, so it would outlast every other.")
    return in_utc


def read_scale(row: RawRow, defaults: LabelDefaults) -> Scale:
    """Return how a plain `value` is to be read: the row's word, or else the default."""
    scale = _text(row, SCALE) if SCALE in row.values else defaults.scale
    if scale is None:
        raise row.problem(SCALE, NO_SCALE)
    if scale not in get_args(Scale):
        raise _none_of(row, SCALE, scale, get_args(Scale))
    return cast("Scale", scale)


def read_points(row: RawRow, column: str) -> float:
    """Return points from 0 to 100."""
    value = row.values[column]
    if isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value):
        raise row.problem(column, f"{value!r} has a decimal comma; write it with a point.")
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        number = float(value)
    if number is None or not 0 <= number <= MAX_POINTS:
        raise row.problem(column, f"{_shown(value)} is no number from 0 to {MAX_POINTS:g}.")
    return float(number)


def read_verdict(row: RawRow, column: str) -> Verdict:
    """Return a verdict; see `VERDICTS` for the spellings that are read."""
    value = _text(row, column)
    if value.casefold() not in VERDICTS:
        raise _none_of(row, column, value, ("passed", "failed"))
    return VERDICTS[value.casefold()]


def is_name(text: str) -> bool:
    """Return whether a text can name a labeller or a run: one line that can be stored, and not blank."""
    return bool(text.strip()) and _ONE_LINE.fullmatch(text) is not None and text == text.encode("utf-8", "replace").decode()


def _text(row: RawRow, column: str) -> str:
    value = row.values[column]
    if not isinstance(value, str):
        raise row.problem(column, f"must be text, not {_shown(value)}.")
    if not is_name(value):
        raise row.problem(column, f"{_shown(value)} holds a character that no name has.")
    return value


def _answer_digest(row: RawRow, column: str) -> str:
    digest = _text(row, column)
    if _DIGEST.fullmatch(digest) is None:
        raise row.problem(column, f"{_shown(digest)} is no answer digest: sha256: and 64 hex digits, as in scores.csv.")
    return digest


def _none_of(row: RawRow, column: str, value: str, known: tuple[str, ...]) -> Exception:
    return row.problem(column, f"{_shown(value)} is none of {', '.join(known)}.", nearest=nearest_name(value, known))


def _shown(value: object) -> str:
    return clip(repr(value), SHOWN_CHARS)
