"""The commit of a folder, from git."""

import subprocess
from pathlib import Path
from typing import NamedTuple

GIT_SECONDS = 10


class Checkout(NamedTuple):
    """What a folder is checked out at. `commit` is None where git knows none; `is_clean` says whether nothing was edited since."""

    commit: str | None
    is_clean: bool


def checkout_of(folder: Path) -> Checkout:
    """Return the commit that the folder's repository is at. Without git, a repository or a commit there is none, and that is no error."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return Checkout(None, is_clean=False)
    # What git does not track is left out: results and caches lie beside what is evaluated.
    return Checkout(commit, is_clean=_git(folder, "status", "--porcelain", "--untracked-files=no") == "")


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
    return ended.stdout.strip() if ended.returncode == 0 else None
