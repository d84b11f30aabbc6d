"""CSV to raw records, typed by header, so that the same questions have the same digest in every format.

Convention: comma separated, RFC 4180 quoting, a header row. An empty cell is a key that is not given. Under a header whose key holds a list
(`expected_topics`, `expected_facts`, `forbidden_facts`, `personas`, `topics`) a cell is a JSON list when it starts with `[`, else its
parts between `;`. Under a header whose key may hold an object or a list, a cell that starts with `{` or `[` is JSON. Under `difficulty`,
`chunk_index` and `validation_score` a cell that spells a JSON number is that number. Every other cell is text, as it stands. A label "no
skill should load" is `[]` under `expected_skill`; an empty cell is no label.
"""

import re

from evalplatform.kernel.csv_text import csv_rows
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
    what = "CSV question set starts with a header row such as id,question"
    _, rows = csv_rows(text, file=file, what=what, error=QuestionSetError)
    records: list[RawRecord] = []
    for row in rows:
        fields = {key: _value(key, cell, file=file, line=row.line) for key, cell in row.cells.items() if cell != ""}
        records.append(RawRecord(file=file, position=len(records), line=row.line, fields=fields))
    return RawFile(records=records)


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
