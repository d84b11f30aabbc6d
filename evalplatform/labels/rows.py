"""CSV and JSON Lines to rows of named values, before any meaning is read into them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evalplatform.kernel.csv_text import csv_rows
from evalplatform.kernel.errors import LabelFileError, nearest_name
from evalplatform.labels.columns import ANSWER_DIGEST, LABEL_POINTS

OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True, slots=True)
class RawRow:
    """One row: its line, and what its columns hold. A blank cell and a null are not there; text has no white space around it."""

    file: str
    line: int
    values: Mapping[str, object]

    def problem(self, column: str, rule: str, *, nearest: str | None = None) -> LabelFileError:
        """Return the error that names this row's file and line and the column."""
        return LabelFileError(rule, file=self.file, line=self.line, field=column, nearest=nearest)


@dataclass(frozen=True, slots=True)
class RawRows:
    """All columns that the file has, its rows in order, and what is wrong with lines that are no rows."""

    columns: list[str]
    rows: list[RawRow]
    problems: list[LabelFileError]


def raw_rows(text: str, *, file: str, suffix: str) -> RawRows:
    """Return the rows of a file whose name ends in `suffix`: `.csv`, `.jsonl` or `.ndjson`.

    Raises:
        LabelFileError: another ending; CSV with another separator, without a usable header, with a row of another length or broken quoting.
    """
    if suffix not in READERS:
        nearest = nearest_name(suffix, READERS) if suffix else None
        raise LabelFileError(f"a file of labels ends in one of {', '.join(READERS)}.", file=file, nearest=nearest)
    return READERS[suffix](text, file)


def _csv(text: str, file: str) -> RawRows:
    first_line = text.lstrip().partition("\n")[0]
    for separator, name in OTHER_SEPARATORS.items():
        if separator in first_line and "," not in first_line:
            raise LabelFileError(f"is separated by {name}; save it separated by commas.", file=file, line=1)
    what = f"CSV file of labels starts with a header row such as {ANSWER_DIGEST},{LABEL_POINTS}"
    header, rows = csv_rows(text, file=file, what=what, error=LabelFileError)
    return RawRows(columns=header, rows=[RawRow(file, row.line, _present(row.cells)) for row in rows], problems=[])


def _json_lines(text: str, file: str) -> RawRows:
    columns: dict[str, None] = {}
    rows: list[RawRow] = []
    problems: list[LabelFileError] = []
    for number, line in enumerate(text.split("\n"), start=1):  # not splitlines: U+2028 may stand inside a JSON string
        if not line.strip():
            continue
        try:
            values = _json_object(line)
        except (ValueError, RecursionError) as error:
            problems.append(LabelFileError(f"is not one JSON object: {_reason(error)}.", file=file, line=number))
            continue
        columns.update(dict.fromkeys(values))
        rows.append(RawRow(file, number, _present(values)))
    return RawRows(columns=list(columns), rows=rows, problems=problems)


READERS: Mapping[str, Callable[[str, str], RawRows]] = {".csv": _csv, ".jsonl": _json_lines, ".ndjson": _json_lines}


def _json_object(line: str) -> dict[str, object]:
    value = json.loads(line, object_pairs_hook=_without_repeated_keys)
    if not isinstance(value, dict):
        raise ValueError("it holds another kind of value")
    return value


def _without_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {key!r} stands twice")
        values[key] = value
    return values


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"column {error.colno}: {error.msg}"
    return str(error)


def _present(values: Mapping[str, object]) -> dict[str, object]:
    stripped = {name: value.strip() if isinstance(value, str) else value for name, value in values.items()}
    return {name: value for name, value in stripped.items() if value is not None and value != ""}
