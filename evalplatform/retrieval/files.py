"""Which files lie below a folder, in one fixed order, and what a mistyped path may have meant."""

import os
from pathlib import Path, PurePath

from evalplatform.kernel.errors import nearest_name


def files_below(folder: Path) -> list[tuple[str, Path]]:
    """Return every regular file below the folder as (relative POSIX path, path), sorted by relative path.

    Links to folders are not entered, and links to files count only where they stay inside the folder: what is read is what the folder
    holds. `__pycache__` folders are left out.
    """
    inside = folder.resolve()
    found: list[tuple[str, Path]] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        paths = [Path(parent, name) for name in names]
        kept = [path for path in paths if path.is_file() and path.resolve().is_relative_to(inside)]
        found.extend((path.relative_to(folder).as_posix(), path) for path in kept)
    return sorted(found)


def nearest_existing(path: str, *, base_folder: Path) -> str | None:
    """Return the existing path closest to a missing one, spelt like it, or None.

    Only the first missing step is corrected, against its neighbours in the last folder that exists.
    """
    folder = base_folder
    steps = PurePath(path).parts
    for index, step in enumerate(steps):
        if (folder / step).exists():
            folder = folder / step
            continue
        near = nearest_name(step, [entry.name for entry in folder.iterdir()]) if folder.is_dir() else None
        if near is None:
            return None
        whole = PurePath(*steps[:index], near, *steps[index + 1 :])
        known = whole if (base_folder / whole).exists() else PurePath(*steps[:index], near)
        return known.as_posix()
    return None
