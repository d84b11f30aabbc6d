"""Waits until its parent dies, then ends what the parent had started: process groups are killed, folders removed.

It is run as a file, by an interpreter of its own, and reads lines from its standard input: `+g 123` watches a process group, `-g 123` no
longer; `+f PATH` and `-f PATH` the same for a folder. The end of its input is the parent's end, however that came.
"""

import contextlib
import os
import shutil
import signal
import sys


def main() -> None:
    """Read what is watched until the input ends, and then end it."""
    watched: dict[str, None] = {}
    for line in sys.stdin:
        sign, what = line[0], line[1:].rstrip("\n")
        if sign == "+":
            watched[what] = None
        else:
            watched.pop(what, None)
    for what in watched:
        if what.startswith("g "):
            with contextlib.suppress(OSError):
                os.killpg(int(what[2:]), signal.SIGKILL)
    for what in watched:
        if what.startswith("f "):
            shutil.rmtree(what[2:], ignore_errors=True)


if __name__ == "__main__":
    main()
