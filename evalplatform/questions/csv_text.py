"""CSV to raw records, typed by header, so that the same questions have the same digest in every format.

Convention: comma separated, RFC 4180 quoting, a header row. An empty cell is a key that is not given. Under a header whose key holds a list
(`expected_topics`, `expected_facts`, `forbidden_facts`, `personas`, `topics`) a cell is a JSON list when it starts with `[`, else its
parts between `;`. Under a header whose key may hold an object or a list, a cell that starts with `{` or `[` is JSON. Under `difficulty`,
`chunk_index` and `validation_score` a cell that spells a JSON number is that number. Every other cell is text, as it stands. A label "no
skill should load" is `[]` under `expected_skill`; an empty cell is no label.
"""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager

from evalplatform.kernel.errors import QuestionSetError
from evalplatform.questions.json_text import decoded_json
from evalplatform.questions.keys import TYPED_KEYS, Cell
from evalplatform.questions.raw import RawFile, RawRecord

_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def csv_records(text: str, *, file: str) -> RawFile:
    """Return the records of a CSV text with a header row.

    Raises:
        QuestionSetError: no header, a header that is empty or given twice, a row of another length, broken quoting, a JSON cell that is
            not JSON; with the line the row starts on.
    """
    with _cells_as_long_as(text):
        rows = _rows(text, file=file)
        header = _header(next(rows, None), file=file)
        records: list[RawRecord] = []
        for line, cells in rows:
            if len(cells) != len(header):
                raise QuestionSetError(f"has {len(cells)} cells where the header has {len(header)}.", file=file, line=line)
            fields = {key: _value(key, cell, file=file, line=line) for key, cell in zip(header, cells, strict=True) if cell != ""}
            records.append(RawRecord(file=file, position=len(records), line=line, fields=fields))
    return RawFile(records=records)


def _rows(text: str, *, file: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise QuestionSetError(f"is not CSV: {error}.", file=file, line=line) from None


def _header(row: tuple[int, list[str]] | None, *, file: str) -> list[str]:
    if row is None:
        raise QuestionSetError("is empty; a CSV question set starts with a header row such as id,question.", file=file)
    line, cells = row
    header = [cell.strip() for cell in cells]
    for column, key in enumerate(header, start=1):
        if not key:
            raise QuestionSetError(
                f"column {column} has no header (pandas writes its index so; use to_csv(index=False)).", file=file, line=line
            )
        if key in header[: column - 1]:
            raise QuestionSetError("heads two columns; one of them would be lost.", file=file, line=line, field=key)
    return header


def _value(key: str, cell: str, *, file: str, line: int) -> object:
    kind: Cell = TYPED_KEYS[key].cell if key in TYPED_KEYS else "text"
    if kind in ("list", "json") and cell.lstrip().startswith(("[", "{")):
        try:
            return decoded_json(cell)
        except ValueError as error:
            raise QuestionSetError(f"starts like JSON but is not: {error}.", file=file, line=line, field=key) from None
    if kind == "list":
        return [part.strip() for part in cell.split(";") if part.strip()]
    if kind == "number" and _JSON_NUMBER.fullmatch(cell):
        return decoded_json(cell)
    return cell


@contextmanager
def _cells_as_long_as(text: str) -> Iterator[None]:
    """Lift the csv module's limit of 131,072 characters a cell, which a ground truth may pass, and put it back: it is the module's."""
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        yield
    finally:
        csv.field_size_limit(limit)
