"""Writing result files where a user asked for them."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from evalplatform.kernel.errors import InputError


def write_if_changed(path: Path, data: bytes) -> bool:
    """Write `data` to `path` by an atomic rename, making folders as needed; return False, and touch nothing, if it is there already.

    Raises:
        InputError: the file cannot be written.
    """
    temporary = _temporary(path)
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _cannot_write(path, error) from error
    finally:
        with suppress(OSError, ValueError):
            temporary.unlink()
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


def check_places(places: Mapping[str, Path | None], *, inputs: Iterable[Path] = ()) -> None:
    """Return nothing if every result has a file of its own, which is none of the inputs.

    Args:
        places: where results go, by the option that says so; None is left out.
        inputs: the files that are read.

    Raises:
        InputError: two options name one file, or one names an input, which would be lost.
    """
    named: dict[str, str] = {}
    read = {os.path.normpath(path.absolute()) for path in inputs}  # not what a link leads to: a rename replaces the link
    for option, path in places.items():
        if path is None:
            continue
        place = os.path.normpath(path.absolute())
        if place in read:
            raise InputError("is one of the files that are read, and is not overwritten: name another.", file=path, field=option)
        if (other := named.setdefault(place, option)) != option:
            raise InputError(f"names the file that {other} names.", file=path, field=option)


def check_new(path: Path, *, field: str) -> None:
    """Return nothing if there is no file of that name.

    Raises:
        InputError: there is one; it may hold what exists nowhere else.
    """
    if path.is_symlink() or path.exists():
        raise InputError("is there already, and is not overwritten: name a new file.", file=path, field=field)


def write_new(path: Path, data: bytes, *, field: str) -> None:
    """Write `data` to a file that was not there, as a whole or not at all; folders are made as needed.

    Raises:
        InputError: there is such a file, also one that somebody else made meanwhile; or it cannot be written.
    """
    temporary = _temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        os.link(temporary, path)  # fails where the name is taken; a rename would replace it
    except (OSError, ValueError) as error:
        check_new(path, field=field)
        raise _cannot_write(path, error).placed(field=field) from error
    finally:
        with suppress(OSError, ValueError):
            temporary.unlink()


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _cannot_write(path: Path, error: OSError | ValueError) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"cannot be written: {reason[0].lower()}{reason[1:]}.", file=path)
