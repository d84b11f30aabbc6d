"""Writing result files where a user asked for them."""

import os
from pathlib import Path


def write_if_changed(path: Path, data: bytes) -> bool:
    """Write `data` to `path` by an atomic rename, making folders as needed; return False, and touch nothing, if it is there already."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)
    return True
