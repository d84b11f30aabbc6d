"""Starting points: the starter project of `init`, and the example project of `demo`."""

import shutil
from pathlib import Path

from evalplatform.kernel.errors import InputError
from evalplatform.project.load import PROJECT_FILE_NAME

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
STARTER_FOLDER = PACKAGE_FOLDER / "templates" / "starter"
EXAMPLE = Path("examples") / "evalplatform-docs"
# The example reads the platform's own docs, two folders above it; both lie so in the source tree and in the installed package.
SHIPPED_WITH_EXAMPLE = (Path("docs"), EXAMPLE)


def write_starter(folder: Path) -> list[Path]:
    """Copy the starter project to `folder` and return the files written.

    Raises:
        InputError: a file of the starter is there already, and nothing is written then; or the folder cannot be written.
    """
    sources = sorted(path for path in STARTER_FOLDER.rglob("*") if path.is_file())
    targets = {folder / _name(path.relative_to(STARTER_FOLDER)): path for path in sources}
    try:
        taken = [target for target in targets if target.exists()]
        if taken:
            raise InputError("is there already; choose an empty folder, nothing was written.", file=taken[0])
        for target, source in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(f"no project can stand here: {error}.", file=folder) from error
    return list(targets)


def copy_example(folder: Path) -> Path:
    """Return the example's project file: `folder`'s own where it is a project already, else that of a copy made below `folder`.

    Raises:
        InputError: `folder` is a file.
    """
    if (folder / PROJECT_FILE_NAME).is_file():
        return folder / PROJECT_FILE_NAME
    project_file = folder / EXAMPLE / PROJECT_FILE_NAME
    if not project_file.is_file():
        if folder.exists() and not folder.is_dir():
            raise InputError("is no folder, so no example can be copied into it.", file=folder)
        for part in SHIPPED_WITH_EXAMPLE:
            shutil.copytree(
                _shipped_root() / part, folder / part, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".evalplatform", ".keep", "images")
            )
    return project_file


def _shipped_root() -> Path:
    """Return the folder that holds docs/ and examples/: the package where it is installed, the source tree where it is not."""
    return PACKAGE_FOLDER if (PACKAGE_FOLDER / EXAMPLE).is_dir() else PACKAGE_FOLDER.parent


def _name(relative: Path) -> Path:
    # The template has no leading dot: a .gitignore inside the package would hide its files from the wheel.
    return relative.with_name(".gitignore") if relative.name == "gitignore" else relative
