"""What ends an agent's processes when this process can no longer do it: it was killed."""

import contextlib
import subprocess
import sys
from pathlib import Path

_CHILD = Path(__file__).with_name("guardian_child.py")


class Guardian:
    """A small process beside this one that holds nothing but the end of a pipe.

    Linux alone can tie a child's life to its parent's, and not that of the child's children; a closed pipe is noticed everywhere, however
    the other end died. It is started with the first thing to watch. Between the start of a process and `watch_group` lies a moment in which
    a kill is not covered.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def watch_group(self, group: int) -> None:
        """Kill this process group if we die."""
        self._tell(f"+g {group}")

    def forget_group(self, group: int) -> None:
        """The group has ended."""
        self._tell(f"-g {group}")

    def watch_folder(self, folder: Path) -> None:
        """Remove this folder if we die."""
        self._tell(f"+f {folder}")

    def forget_folder(self, folder: Path) -> None:
        """The folder is removed."""
        self._tell(f"-f {folder}")

    def close(self) -> None:
        """End it; calling it twice is fine. What is still watched is ended too."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.wait()

    def _tell(self, line: str) -> None:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C at the terminal is ours to handle
            )
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # someone killed it: runs go on without
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
