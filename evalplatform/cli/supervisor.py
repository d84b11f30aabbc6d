"""Several servers as one command: started together, stopped together."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from evalplatform.cli.console import say

CHECK_EVERY_SECONDS = 0.2
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Server:
    """A command that serves until it is told to end. `ends_well` are the exit codes of an end that was asked for."""

    name: str
    command: Sequence[str]
    ends_well: frozenset[int] = frozenset({0, -signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP})


def run_together(servers: Sequence[Server], *, folder: Path, environment: Mapping[str, str]) -> int:
    """Run the servers in `folder` until this process is told to end (SIGINT, SIGTERM, SIGHUP) or one of them ends; then end them all.

    Each has a process group of its own, so that Ctrl-C reaches it once, by way of this process: a second one would cut its shutdown short.
    Every further signal is passed on as well. Where this process is killed outright, Linux tells them to end.

    Returns:
        0 when the end was asked for and all ended well; 2 when one ended by itself, whatever it says of that, or ended badly.
    """
    with _caught_signals() as caught:
        ending_with_us = _ending_with_us()
        running = {server: _started(server, folder, environment, ending_with_us) for server in servers}
        asked = _wait_for_signal_or_end(caught, running)
        first_ended = next((server for server, process in running.items() if process.poll() is not None), None)
        if asked is None and first_ended is not None:
            _end_group(running[first_ended])
            say(f"error: {first_ended.name} has ended by itself (exit code {running[first_ended].returncode}); the rest is ended too.")
        _end_all(caught, running, asked or signal.SIGTERM)
    ended_well = all(process.returncode in server.ends_well for server, process in running.items())
    return 0 if asked is not None and ended_well else 2


def _started(server: Server, folder: Path, environment: Mapping[str, str], ending_with_us: Sequence[str]) -> "subprocess.Popen[bytes]":
    command = (*ending_with_us, *server.command)
    return subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, process_group=0)


def _ending_with_us() -> Sequence[str]:
    """Return the words before a command by which the kernel sends it SIGTERM when this process dies; none where that cannot be asked for.

    `setpriv` of util-linux becomes the command, so that process id and signals stay the same; that of BusyBox does not know the option.
    """
    words = ("setpriv", "--pdeathsig", "TERM")
    try:
        known = subprocess.run((*words, "true"), capture_output=True, check=False).returncode == 0
    except OSError:
        known = False
    return words if known else ()


@contextmanager
def _caught_signals() -> Iterator["SimpleQueue[signal.Signals]"]:
    """Collect the signals that ask for an end. A script's background job starts with SIGINT ignored; here it is heard all the same."""
    caught: SimpleQueue[signal.Signals] = SimpleQueue()
    before = {number: signal.signal(number, lambda received, _: caught.put(signal.Signals(received))) for number in STOP_SIGNALS}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_for_signal_or_end(
    caught: "SimpleQueue[signal.Signals]", running: Mapping[Server, "subprocess.Popen[bytes]"]
) -> signal.Signals | None:
    while all(process.poll() is None for process in running.values()):
        try:
            return caught.get(timeout=CHECK_EVERY_SECONDS)
        except Empty:
            continue
    return None


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Tell what a server has started to end: one that was killed could not, and what it leaves would hold its port."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)  # it was given a process group of its own, named by its id


def _end_all(caught: "SimpleQueue[signal.Signals]", running: Mapping[Server, "subprocess.Popen[bytes]"], first: signal.Signals) -> None:
    """Pass `first` on, and then every signal that comes while they end; none is killed, since a run may be storing its last answers."""
    to_send: signal.Signals | None = first
    while left := [process for process in running.values() if process.poll() is None]:
        if to_send is not None:
            for process in left:
                process.send_signal(to_send)
        try:
            to_send = caught.get(timeout=CHECK_EVERY_SECONDS)
        except Empty:
            to_send = None
