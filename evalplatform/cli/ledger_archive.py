"""Ledger rows in a file: one JSON line each, compressed where the file's name ends with .zst."""

import os
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO

import zstandard

from evalplatform.cli.files import check_new
from evalplatform.kernel.errors import InputError
from evalplatform.ports.ledger import CallKey, LedgerRow

ENDINGS = (".jsonl", ".jsonl.zst")


def check_archive_path(path: Path, *, field: str) -> None:
    """Return nothing if rows can go into a new file of that name.

    Raises:
        InputError: its name ends otherwise, its folder is not there, or there is such a file: it may hold the only copy of calls that were
            pruned.
    """
    if not path.name.endswith(ENDINGS):
        raise InputError(f"has to end with {' or '.join(ENDINGS)}.", file=path, field=field)
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} is not there: make it, or name another.", file=path, field=field)
    check_new(path, field=field)


async def write_archive(path: Path, rows: AsyncIterable[LedgerRow]) -> int:
    """Write the rows to a new file, durably and as a whole or not at all; return how many there were.

    Raises:
        InputError: the file cannot be written, or somebody else made it meanwhile.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    written = 0
    try:
        with temporary.open("xb") as file:
            with _compressed(path, file) as lines:
                async for row in rows:
                    lines.write(row.model_dump_json().encode() + b"\n")
                    written += 1
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)  # fails where the name is taken; a rename would replace it
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}.", file=path) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    return written


async def archived_keys(path: Path) -> AsyncIterator[CallKey]:
    """Iterate over the keys of the rows that a file holds, each row read whole: what is yielded can be brought back.

    Raises:
        InputError: a line is no ledger row.
    """
    with path.open("rb") as file, _decompressed(path, file) as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = LedgerRow.model_validate_json(line)
            except ValueError as error:
                raise InputError(f"is no ledger row: {error}", file=path, line=number) from error
            yield row.key


@contextmanager
def _compressed(path: Path, file: BinaryIO) -> Iterator[BinaryIO]:
    if path.suffix != ".zst":
        yield file
        return
    with zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as writer:
        yield writer


@contextmanager
def _decompressed(path: Path, file: BinaryIO) -> Iterator[TextIOWrapper]:
    source = zstandard.ZstdDecompressor().stream_reader(file) if path.suffix == ".zst" else file
    with TextIOWrapper(source, encoding="utf-8", newline="\n") as lines:
        yield lines
