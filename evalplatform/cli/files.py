"""Writing result files where a user asked for them."""

import os
from pathlib import Path

from evalplatform.kernel.errors import InputError


def write_if_changed(path: Path, data: bytes) -> bool:
    """Write `data` to `path` by an atomic rename, making folders as needed; return False, and touch nothing, if it is there already.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(path)
        temporary.write_bytes(data)
        temporary.replace(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _cannot_write(path, error) from error
    return True


def check_writable(path: Path, *, field: str) -> None:
    """Return nothing if `path` can be written, found out by writing beside it; its folder is made.

    Called before anything is paid for, so that no result is left without a place to go.

    Raises:
        InputError: it cannot, because it is a folder, for lack of permission, or because of its name.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(path)
        temporary.touch()
        temporary.unlink()
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error).placed(field=field) from error


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _cannot_write(path: Path, error: OSError | ValueError) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"cannot be written: {reason[0].lower()}{reason[1:]}.", file=path)
