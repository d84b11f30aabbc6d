"""`evalplatform dev` as a script starts it: in the background, from a folder below the project."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 180
END_SECONDS = 90
MODULE = "import sys; from evalplatform.cli.main import run; sys.argv[0] = 'evalplatform'; run()"


@dataclass
class DevServer:
    """A running `evalplatform dev`."""

    url: str
    web_url: str
    pid: int
    script: "subprocess.Popen[str]"
    log: Path

    def end(self, with_signal: signal.Signals) -> str:
        """Send a signal to `evalplatform dev` and return what the script says of its end."""
        os.kill(self.pid, with_signal)
        out, _ = self.script.communicate(timeout=END_SECONDS)
        return out.strip()


@contextmanager
def running_dev_server(working_folder: Path, *, log: Path, home: Path) -> Iterator[DevServer]:
    """Start the server, wait until it serves, and end it and all that it started with the block."""
    port, web_port = free_port(), free_port()
    # The background job of a shell without job control starts with SIGINT ignored; the script prints its pid, and how it ended.
    script = f'"$0" -c "$1" dev --port {port} --web-port {web_port} >&2 & echo $!; wait $!; echo "exit $?"'
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DAGSTER_", "EVALPLATFORM_"))}
    with log.open("wb") as sink:
        process = subprocess.Popen(
            ["sh", "-c", script, sys.executable, MODULE],
            cwd=working_folder,
            env={**environment, "HOME": str(home), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stdout=subprocess.PIPE,
            stderr=sink,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        server = DevServer(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{web_port}", int(process.stdout.readline()), process, log)
        try:
            _wait_until_serving(server)
            yield server
        finally:
            _end(server)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_serving(server: DevServer) -> None:
    give_up_at = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{server.url}/server_info", timeout=10):
                return
        except (urllib.error.URLError, TimeoutError) as error:
            if server.script.poll() is not None or time.monotonic() > give_up_at:
                raise AssertionError(f"dagster dev does not serve: {server.log.read_text(errors='replace')[-3000:]}") from error
            time.sleep(0.3)


def _end(server: DevServer) -> None:
    """End what a failed test left: `evalplatform dev` ends its servers, which are in groups of their own; the script's group goes last."""
    with suppress(ProcessLookupError, subprocess.TimeoutExpired):
        if server.script.poll() is None:
            os.kill(server.pid, signal.SIGTERM)
            server.script.wait(END_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(server.script.pid, signal.SIGKILL)
    server.script.wait()
    assert server.script.stdout is not None
    server.script.stdout.close()
