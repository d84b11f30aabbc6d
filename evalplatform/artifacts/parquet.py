"""Rows as Parquet: a declared schema on every write, equal rows give equal bytes, many rows need little memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import islice
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import orjson

from evalplatform.kernel.errors import InputError, StorageError

if TYPE_CHECKING:
    import pyarrow

ROW_GROUP_ROWS = 1_000
COMPRESSION_LEVEL = 3

Row = Mapping[str, Any]


def parquet_bytes(schema: "pyarrow.Schema", rows: Iterable[Row]) -> bytes:
    """Return the rows as a Parquet file of the declared schema; the same rows always give the same bytes.

    Raises:
        InputError: a row whose columns are not the schema's, or a value that its column cannot hold (see `ParquetRows`).
    """
    buffer = BytesIO()
    with ParquetRows(buffer, schema) as writer:
        writer.write(rows)
    return buffer.getvalue()


class ParquetRows:
    """Writes rows to a Parquet file, a row group at a time, so that a million rows need the memory of a thousand.

    Every column keeps its declared type, even one that is all null: left to itself Arrow would call it `null`, and two shards of one table
    would no longer fit together. Compression is zstd. The file carries nothing that depends on when or where it was written.

    Args:
        target: a path, or a binary file that is open for writing and stays open.
        schema: the declared columns.
    """

    def __init__(self, target: Path | IO[bytes], schema: "pyarrow.Schema") -> None:
        from pyarrow import parquet

        self._schema = schema
        self._names = frozenset(schema.names)
        self._waiting: list[Row] = []
        self._written = 0
        self._writer = parquet.ParquetWriter(
            target, schema, version="2.6", compression="zstd", compression_level=COMPRESSION_LEVEL, write_statistics=True
        )

    def write(self, rows: Iterable[Row]) -> None:
        """Add rows.

        Raises:
            InputError: a row has a column too many or too few, a value its column cannot hold, None where the column is declared not
                nullable, or NaN, which is no way to say that something is missing. The message counts rows from 1.
        """
        remaining = iter(rows)
        while block := list(islice(remaining, ROW_GROUP_ROWS - len(self._waiting))):
            for row in block:
                self._check_columns(row)
                self._waiting.append(row)
            if len(self._waiting) == ROW_GROUP_ROWS:
                self._flush()

    def close(self) -> None:
        """Write what waits, and the footer without which the file is unreadable."""
        if self._waiting:
            self._flush()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._writer.close()

    def _check_columns(self, row: Row) -> None:
        if row.keys() == self._names:
            return
        number = self._written + len(self._waiting) + 1
        missing, unknown = sorted(self._names - row.keys()), sorted(row.keys() - self._names)
        raise InputError(f"row {number:,} does not have the declared columns: missing {missing}, not declared {unknown}.")

    def _flush(self) -> None:
        import pyarrow

        block = _through_json(self._waiting, self._schema)
        if block is None:
            block = pyarrow.Table.from_arrays([self._column(field) for field in self._schema], schema=self._schema)
        self._writer.write_table(block, row_group_size=ROW_GROUP_ROWS)
        self._written += len(self._waiting)
        self._waiting = []

    def _column(self, field: "pyarrow.Field[Any]") -> "pyarrow.Array[Any]":
        import pyarrow
        from pyarrow import compute

        place = f"rows {self._written + 1:,} to {self._written + len(self._waiting):,}"
        try:
            column: pyarrow.Array[Any] = pyarrow.array([row[field.name] for row in self._waiting], type=field.type)
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{place} hold a value that is no {field.type}: {error}.", field=field.name) from error
        if not field.nullable and column.null_count:
            raise InputError(f"{place} hold None, and the column is declared to have a value in every row.", field=field.name)
        if pyarrow.types.is_floating(field.type) and compute.any(compute.is_nan(column)).as_py():
            raise InputError(f"{place} hold NaN: what is missing is None.", field=field.name)
        return column


def _through_json(rows: Sequence[Row], schema: "pyarrow.Schema") -> "pyarrow.Table | None":
    """Return the rows as a table by Arrow's JSON reader, or None where they must be converted column by column.

    That is where a column's type has no one spelling in JSON, or where a value does not fit its column: converting by columns says which.
    `pyarrow.array` would do for every block, but it loads pandas first: 0.4 s and 40 MB of a run that needs neither.
    """
    import pyarrow
    from pyarrow import json

    spelled = {pyarrow.string(), pyarrow.bool_(), pyarrow.int32(), pyarrow.int64(), pyarrow.float64(), pyarrow.list_(pyarrow.int32())}
    if not spelled.issuperset(schema.types):
        return None
    numbers = [field.name for field in schema if field.type == pyarrow.float64()]
    if any(isinstance(row[name], float) and not isfinite(row[name]) for name in numbers for row in rows):
        return None  # JSON has no NaN: orjson would write null
    try:
        text = b"\n".join(map(orjson.dumps, rows))
        table = json.read_json(
            BytesIO(text),
            read_options=json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=json.ParseOptions(explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior="error"),
        )
    except (pyarrow.ArrowException, TypeError):
        return None
    if any(not field.nullable and table.column(field.name).null_count for field in schema):
        return None
    return pyarrow.Table.from_arrays([table.column(name) for name in schema.names], schema=schema)  # a cast would load pyarrow.compute


def parquet_rows(source: bytes | Path, *, columns: Sequence[str] | None = None) -> Iterator[list[dict[str, Any]]]:
    """Iterate over a Parquet file's rows in blocks of at most a thousand.

    Args:
        source: the file's bytes, or its path.
        columns: the columns to read; all by default.

    Raises:
        StorageError: the bytes are no Parquet file, or it is damaged.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        # Read ahead and on threads, the same rows take four times the memory and no less time: they are turned into Python values here.
        with parquet.ParquetFile(BytesIO(source) if isinstance(source, bytes) else source, pre_buffer=False) as file:
            for batch in file.iter_batches(ROW_GROUP_ROWS, columns=None if columns is None else list(columns), use_threads=False):
                yield batch.to_pylist()
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise StorageError(f"cannot be read as Parquet: {error}") from error


def parquet_schema(source: bytes | Path) -> "pyarrow.Schema":
    """Return the schema a Parquet file was written with; StorageError where it is none."""
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.read_schema(BytesIO(source) if isinstance(source, bytes) else source)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise StorageError(f"cannot be read as Parquet: {error}") from error
