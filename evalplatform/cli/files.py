"""Writing result files where a user asked for them."""

import os
from collections.abc import Iterable
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
    """Return nothing if `path` can be written, found out by writing beside it; folders that it takes for that are gone again.

    Called before anything is paid for, so that no result is left without a place to go.

    Raises:
        InputError: it cannot, because it is a folder, for lack of permission, or because of its name.
    """
    missing: list[Path] = []
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        missing += (folder for folder in path.parents if not folder.exists())  # the innermost first
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(path)
        temporary.touch()
        temporary.unlink()
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error).placed(field=field) from error
    finally:
        for folder in missing:
            with suppress(OSError):  # somebody else uses it by now
                folder.rmdir()


def check_places(outputs: Iterable[tuple[str, Path | None]], *, inputs: Iterable[Path] = ()) -> None:
    """Return nothing if every result has a file of its own, which is none of the inputs. It makes nothing.

    Files are told apart by where a path leads, through links, `..` and spellings that a file system takes for one name.

    Args:
        outputs: where results go, each after the option that says so; None is left out.
        inputs: the files that are read, or may not be written for another reason. One that is missing is in nobody's way.

    Raises:
        InputError: two results would go to one file, or one to an input, which would be lost.
    """
    taken: dict[object, str] = {}
    read = {_identity(path) for path in inputs}
    for option, path in outputs:
        if path is None:
            continue
        place = _identity(path)
        if place in read:
            raise InputError("is one of the files that are read, and is not overwritten: name another.", file=path, field=option)
        if place in taken:
            other = taken[place]
            rule = "is a file that two results would go to." if other == option else f"names the file that {other} names."
            raise InputError(rule, file=path, field=option)
        taken[place] = option


def check_outputs(outputs: Iterable[tuple[str, Path | None]], *, inputs: Iterable[Path] = ()) -> None:
    """Return nothing if every result has a file of its own, none of the inputs, that can be written. It leaves nothing behind.

    Raises:
        InputError: as `check_places` and `check_writable` do.
    """
    places = list(outputs)
    check_places(places, inputs=inputs)
    for option, path in places:
        if path is not None:
            check_writable(path, field=option)


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


def _identity(path: Path) -> object:
    """Return what two paths share exactly when they lead to one file: its number on its device, or the path without links."""
    try:
        place = os.path.realpath(path)  # also past a folder that is missing yet: `new/../a.json` is `a.json`
    except (OSError, ValueError):  # a NUL in it: whoever writes there is told
        return str(path.absolute())
    try:
        found = Path(place).stat()
    except OSError:
        return place
    return found.st_dev, found.st_ino


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _cannot_write(path: Path, error: OSError | ValueError) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"cannot be written: {reason[0].lower()}{reason[1:]}.", file=path)
