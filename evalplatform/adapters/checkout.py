"""The commit of a folder, from git."""

import subprocess
from pathlib import Path
from typing import NamedTuple

GIT_SECONDS = 10
STATE_FOLDER = ".evalplatform"


class Checkout(NamedTuple):
    """What a folder is checked out at.

    `commit` is None where git knows none; `is_clean` says whether no file of it was edited since; `untracked` are files, and folders of
    files, that git neither tracks nor ignores, without those of a project's own state.
    """

    commit: str | None
    is_clean: bool
    untracked: tuple[str, ...] = ()


def checkout_of(folder: Path) -> Checkout:
    """Return the commit that the folder's repository is at. Without git, a repository or a commit there is none, and that is no error."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return Checkout(None, is_clean=False)
    status = _git(folder, "status", "--porcelain", "--", ":/", f":(top,exclude,glob)**/{STATE_FOLDER}/**")
    lines = ["!! unknown"] if status is None else status.splitlines()
    untracked = tuple(line[3:] for line in lines if line.startswith("?? "))
    return Checkout(commit, is_clean=len(untracked) == len(lines), untracked=untracked)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        ended = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.rstrip() if ended.returncode == 0 else None
