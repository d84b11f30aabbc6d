"""Running a program once: fed, bounded in time and size, and ended with everything that it started.

Standard input, output and error are files and not pipes: nothing blocks on a program that does not read or never stops writing, and a
background process that outlives it holds nobody up.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Literal, NamedTuple

from evalplatform.adapters.agents.guardian import Guardian
from evalplatform.kernel.errors import HarnessError

STDERR_TAIL_BYTES = 65_536
LOOK_SECONDS = 0.2
"""How often the size of what it wrote is looked at."""
ENDING_SECONDS = 2.0
"""How long a program that is asked to end (SIGTERM) may take before it is killed."""


class ProgramEnd(NamedTuple):
    """How a program ended. `exit_code` is negative for a signal's; `stopped` says what it was stopped for, or is None."""

    exit_code: int
    stdout: bytes
    stderr_tail: str
    stopped: Literal["timeout", "too_large"] | None


async def run_program(
    argv: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    data: bytes,
    limit_seconds: float,
    limit_bytes: int,
    guardian: Guardian,
) -> ProgramEnd:
    """Run a program in a session of its own and return how it ended.

    Its whole process group is ended when it has ended, when it takes too long or writes too much, and when this is cancelled; it is asked
    to end first, and killed two seconds later. What it wrote beyond `limit_bytes` is not read.

    Args:
        argv: the program and its arguments; a program without a slash is looked for in `env`'s PATH.
        folder: its working directory.
        env: its whole environment.
        data: its standard input.
        limit_seconds: how long it may take.
        limit_bytes: how much it may write to standard output, and again to standard error.
        guardian: ends the group where this process dies first.

    Raises:
        HarnessError: `cannot_start`.
    """
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(data)
        stdin.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, cwd=folder, env=dict(env), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise HarnessError("cannot_start", f"{argv[0]!r} cannot be started: {error}.") from error
        guardian.watch_group(process.pid)
        stopped: Literal["timeout", "too_large"] | None = None
        try:
            async with asyncio.timeout(limit_seconds):
                while not await _ended_within(process, LOOK_SECONDS):
                    if max(_size(stdout), _size(stderr)) > limit_bytes:
                        stopped = "too_large"
                        break
        except TimeoutError:
            stopped = "timeout"
        finally:
            await _end(process)
            guardian.forget_group(process.pid)
        if stopped is None and _size(stdout) > limit_bytes:
            stopped = "too_large"
        assert process.returncode is not None  # `_end` waited for it
        written = b"" if stopped == "too_large" else _read(stdout, limit_bytes)
        return ProgramEnd(process.returncode, written, _tail(stderr), stopped)


async def _ended_within(process: asyncio.subprocess.Process, seconds: float) -> bool:
    try:
        await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        return False
    return True


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a program's whole group, and wait until the program itself is gone, so that no zombie is left."""
    try:
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM)
            await _ended_within(process, ENDING_SECONDS)
    finally:
        _signal(process.pid, signal.SIGKILL)  # also for what it left in the background
        await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _read(file: IO[bytes], limit_bytes: int) -> bytes:
    file.seek(0)
    return file.read(limit_bytes)


def _tail(file: IO[bytes]) -> str:
    size = _size(file)
    file.seek(max(0, size - STDERR_TAIL_BYTES))
    return file.read(STDERR_TAIL_BYTES).decode("utf-8", "replace").strip()
