"""JSON values out of a file of JSON Lines, of server-sent events, or of one JSON document."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.traces.json_keys import RepeatedKeyError, strict_json

LINE_ENDINGS = (".jsonl", ".ndjson")
MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
"""A single document is read whole, so a larger one has to be written as JSON Lines, which are read line by line."""

_EVENT_PREFIX = b"data:"
_STREAM_END = b"[DONE]"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JsonDocument(NamedTuple):
    """A parsed value and the line it begins at; `is_whole_file` where the file holds nothing else."""

    line: int
    value: object
    is_whole_file: bool = False


def json_documents(path: Path) -> Iterator[JsonDocument | TraceError]:
    """Iterate over the JSON values of a file, each line's in turn, with its error in place of a line that cannot be read.

    A file is read by lines when its name ends in .jsonl or .ndjson, or when its first line is a whole value and more follows. Empty lines
    and a byte order mark are passed over, and so is what server-sent events put around their JSON.

    Raises:
        TraceError: the file holds nothing, or is one document over `MAX_DOCUMENT_BYTES`.
    """
    if path.suffix.lower() in LINE_ENDINGS or _starts_with_a_line(path):
        yield from _lines(path)
        return
    size = path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        raise TraceError(f"is one document of {size:,} bytes; write it as JSON Lines, which are read line by line.", file=path)
    data = path.read_bytes().removeprefix(_BYTE_ORDER_MARK)
    if not data.strip():
        raise TraceError("holds nothing.", file=path)
    parsed = _parsed(data, path, 1)
    yield parsed if isinstance(parsed, TraceError) else parsed._replace(is_whole_file=True)


def _starts_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        for number, raw in enumerate(file):
            line = _payload(raw, is_first=number == 0)
            if not line:
                continue
            try:
                json.loads(line)
            except (ValueError, RecursionError):
                return raw.startswith(_EVENT_PREFIX)
            return any(following.strip() for following in file)
    return False


def _lines(path: Path) -> Iterator[JsonDocument | TraceError]:
    found = False
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            line = _payload(raw, is_first=number == 1)
            if line and line != _STREAM_END:
                found = True
                yield _parsed(line, path, number)
    if not found:
        raise TraceError("holds nothing.", file=path)


def _payload(raw: bytes, *, is_first: bool) -> bytes:
    line = (raw.removeprefix(_BYTE_ORDER_MARK) if is_first else raw).strip()
    if line.startswith(_EVENT_PREFIX):
        return line.removeprefix(_EVENT_PREFIX).strip()
    return b"" if line.startswith((b":", b"event:", b"id:", b"retry:")) else line


def _parsed(data: bytes, path: Path, line: int) -> JsonDocument | TraceError:
    try:
        return JsonDocument(line, strict_json(data.decode("utf-8")))
    except UnicodeDecodeError as error:
        where = line + data.count(b"\n", 0, error.start)
        return TraceError(f"is not UTF-8: byte {error.start + 1:,} of what was read is {data[error.start]:#04x}.", file=path, line=where)
    except json.JSONDecodeError as error:
        return TraceError(f"is no JSON: {error.msg} (column {error.colno:,}).", file=path, line=line + error.lineno - 1)
    except RecursionError:
        return TraceError("is nested too deep to be read.", file=path, line=line)
    except RepeatedKeyError as error:
        return TraceError(f"leaves open what it says: {error}.", file=path, line=line)
    except ValueError as error:  # NaN and the infinities, or a number of thousands of digits
        return TraceError(f"is no JSON: {error}.", file=path, line=line)
