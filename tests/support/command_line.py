"""The command line as users run it: a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

EVALPLATFORM = Path(sys.executable).with_name("evalplatform")
LONGEST_SECONDS = 120.0


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it printed."""

    code: int
    out: str
    err: str


@contextmanager
def started(*arguments: str, folder: Path, environment: Mapping[str, str] | None = None) -> Iterator["subprocess.Popen[str]"]:
    """Start `evalplatform ARGUMENTS` in a folder; `environment` is added to this process's own. It does not outlive the block."""
    with started_process([EVALPLATFORM, *arguments], folder=folder, environment=environment) as process:
        yield process


@contextmanager
def started_process(
    command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str] | None = None, with_children: bool = False
) -> Iterator["subprocess.Popen[str]"]:
    """Start any command, as `started` does; `with_children` ends what it has started, too."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=with_children,
    )
    try:
        yield process
    finally:
        if with_children:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        elif process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: "subprocess.Popen[str]", *, within_seconds: float = LONGEST_SECONDS) -> Ended:
    """Wait for a process and return how it ended; TimeoutExpired when it takes longer."""
    out, err = process.communicate(timeout=within_seconds)
    return Ended(process.returncode, out, err)


def run(*arguments: str, folder: Path, environment: Mapping[str, str] | None = None, within_seconds: float = LONGEST_SECONDS) -> Ended:
    """Run `evalplatform ARGUMENTS` in a folder to its end."""
    return run_process([EVALPLATFORM, *arguments], folder=folder, environment=environment, within_seconds=within_seconds)


def run_process(
    command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str] | None = None, within_seconds: float = LONGEST_SECONDS
) -> Ended:
    """Run any command to its end."""
    with started_process(command, folder=folder, environment=environment) as process:
        return ended(process, within_seconds=within_seconds)


def wait_until(condition: Callable[[], bool], what: str, *, within_seconds: float = LONGEST_SECONDS) -> None:
    """Wait for a condition; fail the test, saying for what, when it takes longer."""
    give_up_at = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < give_up_at, f"waited {within_seconds:g} s for {what}"
        time.sleep(0.002)
