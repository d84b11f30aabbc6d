"""Whether processes are still there."""

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_SECONDS = 20.0


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent to notice does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return status.parent.parent.is_dir() is False  # no /proc here: the signal could be sent, so it runs


def ended_soon(*pids: int) -> bool:
    """Whether all of them have ended, or do so soon."""
    return _soon(lambda: not any(is_running(pid) for pid in pids))


def appeared(path: Path) -> bool:
    """Whether a file is there, or comes to be soon."""
    return _soon(path.exists)


def disappeared(path: Path) -> bool:
    """Whether a file or folder is gone, or goes soon."""
    return _soon(lambda: not path.exists())


def _soon(is_so: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
