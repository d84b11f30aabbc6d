"""CSV as users and their tools write it: decoded, split into rows with their lines, with a header that loses no column.

Convention: UTF-8 with or without a byte order mark, comma separated, RFC 4180 quoting, a header row.
"""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evalplatform.kernel.errors import InputError


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row by its columns, in their order. `line` is the 1-based line that it starts on."""

    line: int
    cells: dict[str, str]


def decoded_text(data: bytes, *, file: str, error: type[InputError] = InputError) -> str:
    """Return the text of a file, without a byte order mark.

    Raises:
        InputError: of the type `error`, with the line: it is not UTF-8.
    """
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as failure:
        line = data.count(b"\n", 0, failure.start) + 1
        rule = f"is not UTF-8: byte 0x{data[failure.start]:02x} at offset {failure.start}; save the file as UTF-8."
        raise error(rule, file=file, line=line) from None


def csv_rows(text: str, *, file: str, what: str, error: type[InputError] = InputError) -> tuple[list[str], list[CsvRow]]:
    """Return the header and the rows below it; blank lines are passed over, and a header's outer white space is.

    Args:
        text: the file's text.
        file: how messages name the file.
        what: how a file that is not empty starts, for the message about one that is.
        error: the type of error to raise.

    Raises:
        InputError: of the type `error`: no header, a header that is empty or given twice, a row of another length, broken quoting; with the
            line that the row starts on.
    """
    with _cells_as_long_as(text):
        lines = _lines(text, file=file, error=error)
        first = next(lines, None)
        if first is None:
            raise error(f"is empty; a {what}.", file=file)
        header = _header(*first, file=file, error=error)
        rows = []
        for line, cells in lines:
            if len(cells) != len(header):
                raise error(f"has {len(cells)} cells where the header has {len(header)}.", file=file, line=line)
            rows.append(CsvRow(line=line, cells=dict(zip(header, cells, strict=True))))
    return header, rows


def _lines(text: str, *, file: str, error: type[InputError]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as failure:
        raise error(f"is not CSV: {failure}.", file=file, line=line) from None


def _header(line: int, cells: list[str], *, file: str, error: type[InputError]) -> list[str]:
    header = [cell.strip() for cell in cells]
    for column, key in enumerate(header, start=1):
        if not key:
            raise error(f"column {column} has no header (pandas writes its index so; use to_csv(index=False)).", file=file, line=line)
        if key in header[: column - 1]:
            raise error("heads two columns; one of them would be lost.", file=file, line=line, field=key)
    return header


@contextmanager
def _cells_as_long_as(text: str) -> Iterator[None]:
    """Lift the csv module's limit of 131,072 characters a cell, which a text may pass, and put it back: it is the module's."""
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        yield
    finally:
        csv.field_size_limit(limit)
