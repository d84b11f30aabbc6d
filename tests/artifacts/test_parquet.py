import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from evalplatform.artifacts.parquet import ROW_GROUP_ROWS, ParquetRows, parquet_bytes, parquet_rows, parquet_schema
from evalplatform.kernel.errors import InputError, StorageError

SCORES = pa.schema([pa.field("id", pa.string(), nullable=False), ("score", pa.float64()), ("tags", pa.list_(pa.string()))])


def row(identity: str, score: float | None = None) -> dict[str, object]:
    return {"id": identity, "score": score, "tags": ["a"]}


def read(data: bytes | Path) -> list[dict[str, object]]:
    return [row for block in parquet_rows(data) for row in block]


def test_a_column_that_is_all_null_in_one_shard_keeps_its_declared_type() -> None:
    # Pitfall D06.
    shards = [parquet_bytes(SCORES, [row("1", None)]), parquet_bytes(SCORES, [row("2", 0.5)]), parquet_bytes(SCORES, [])]
    assert [parquet_schema(shard).field("score").type for shard in shards] == [pa.float64()] * 3
    assert [entry["score"] for shard in shards for entry in read(shard)] == [None, 0.5]


def test_the_same_rows_give_the_same_bytes_and_carry_no_pandas_metadata() -> None:
    rows = [row(str(number), number / 3) for number in range(100)]
    assert parquet_bytes(SCORES, rows) == parquet_bytes(SCORES, iter(rows))
    assert parquet_bytes(SCORES, rows) != parquet_bytes(SCORES, rows[::-1])
    assert parquet_schema(parquet_bytes(SCORES, rows)).metadata is None


def test_text_of_any_kind_comes_back_as_it_was() -> None:
    texts = ["👩‍👩‍👧‍👦", "\u202eabc\u2066مرحبا\u2069", "a\x00b", "e\u0301 vs é", "x" * 1_048_576]
    assert [entry["id"] for entry in read(parquet_bytes(SCORES, [row(text) for text in texts]))] == texts


def test_many_rows_are_written_and_read_in_blocks(tmp_path: Path) -> None:
    count = 2 * ROW_GROUP_ROWS + 17

    def some(start: int, stop: int) -> Iterator[dict[str, object]]:
        return (row(str(number)) for number in range(start, stop))

    with ParquetRows(tmp_path / "rows.parquet", SCORES) as writer:
        writer.write(some(0, 10))
        writer.write(some(10, count))
    blocks = list(parquet_rows(tmp_path / "rows.parquet", columns=["id"]))
    assert max(len(block) for block in blocks) == ROW_GROUP_ROWS
    assert [entry for block in blocks for entry in block] == [{"id": str(number)} for number in range(count)]
    assert (tmp_path / "rows.parquet").read_bytes() == parquet_bytes(SCORES, some(0, count))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"id": "2", "score": 1.0}, r"row 2 .*missing \['tags'\]"),
        ({**row("2"), "scoer": 1.0}, r"row 2 .*not declared \['scoer'\]"),
        (row("2") | {"score": "high"}, "score: rows 1 to 2 hold a value that is no double"),
        (row("2") | {"id": None}, "id: rows 1 to 2 hold None"),
        (row("2", math.nan), "score: rows 1 to 2 hold NaN"),
        (row("\ud800"), "id: rows 1 to 2 hold a value that is no string"),
    ],
)
def test_a_row_that_does_not_fit_the_declared_schema_is_refused(bad: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parquet_bytes(SCORES, [row("1"), bad])


@pytest.mark.parametrize("cut", [0, 3, 100, -1])
def test_a_damaged_file_is_an_error_and_not_an_empty_one(cut: int) -> None:
    with pytest.raises(StorageError, match="Parquet"):
        read(parquet_bytes(SCORES, [row("1")])[:cut])
