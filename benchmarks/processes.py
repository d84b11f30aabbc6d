"""Processes of their own: a command measured from outside, and the model server that everything is asked at."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

REPOSITORY = Path(__file__).parents[1]
EVALPLATFORM = (sys.executable, "-c", "from evalplatform.cli.main import run; run()")


@dataclass(frozen=True)
class Measured:
    """One run of a command. `peak_mib` is the largest resident set it had; `output` what it printed."""

    wall_seconds: float
    cpu_seconds: float
    peak_mib: float
    output: str


def measured(command: Sequence[str], *, bytecode: Path | None, folder: Path = REPOSITORY, accepted: Sequence[int] = (0,)) -> Measured:
    """Run a command to its end and return what it took.

    Args:
        command: the program and its arguments.
        bytecode: where Python keeps compiled modules; the first command fills it, as a first run after an installation does. None leaves
            that to the environment.
        folder: the working directory.
        accepted: the exit codes of success.

    Raises:
        RuntimeError: another exit code, with what the command said.
    """
    started = time.perf_counter()
    child = subprocess.Popen(
        command, cwd=folder, env=environment(bytecode), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    assert child.stdout is not None
    with child.stdout:
        output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall_seconds = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in accepted:
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}:\n{output}")
    peak_kib = usage.ru_maxrss / 1024 if sys.platform == "darwin" else usage.ru_maxrss
    return Measured(wall_seconds, usage.ru_utime + usage.ru_stime, peak_kib / 1024, output)


def environment(bytecode: Path | None) -> dict[str, str]:
    """Return the environment of a measured command: modules are compiled once, and no project is found by accident."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVALPLATFORM_")}
    if bytecode is not None:
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        kept["PYTHONPYCACHEPREFIX"] = str(bytecode)
    return {**kept, "PYTHONPATH": str(REPOSITORY)}


@dataclass(frozen=True)
class ModelServer:
    """The model server of the tests, in a process of its own."""

    url: str

    def requests_by_body(self) -> Mapping[str, int]:
        """Return how often each request body came, by its digest."""
        with urlopen(self.url.removesuffix("/v1") + "/stats") as response:
            stats: dict[str, Any] = json.load(response)
        return {digest: seen["count"] for digest, seen in stats["bodies"].items()}


@contextmanager
def model_server(latency_seconds: float) -> Iterator[ModelServer]:
    """Serve until the block ends; every reply takes `latency_seconds`."""
    command = [sys.executable, "-m", "tests.support.model_stub", "--latency-seconds", str(latency_seconds)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield ModelServer(url=f"http://127.0.0.1:{int(server.stdout.readline())}/v1")
        finally:
            server.terminate()
