"""A disk of a few kilobytes: a file system of its own in memory, where this process may mount one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.requirements import need


@contextmanager
def small_disk(folder: Path, *, kibibytes: int) -> Iterator[None]:
    """Mount an empty disk of that size at `folder` for the block; the test is skipped where mounting is not allowed."""
    folder.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", folder], capture_output=True, check=False)
    need(mounted.returncode == 0, "the right to mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def grow(folder: Path, *, kibibytes: int) -> None:
    """Give the disk mounted there another size; what is on it stays."""
    subprocess.run(["mount", "-o", f"remount,size={kibibytes}k", folder], check=True)


def make_read_only(folder: Path) -> None:
    """Let nothing more be written to the disk mounted there."""
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
