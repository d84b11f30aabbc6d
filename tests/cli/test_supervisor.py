"""Servers that run as one command: they end together, and the exit code says why."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from shutil import which

import pytest

from tests.support.command_line import ended, started_process, wait_until
from tests.support.requirements import need

RUN = """
import sys
from pathlib import Path
from evalplatform.cli.supervisor import Server, run_together
servers = [Server(name, (sys.executable, "-c", code)) for name, code in zip(("one", "other"), sys.argv[1:], strict=True)]
sys.exit(run_together(servers, folder=Path("."), environment={}))
"""
# A server that says when it is up and how often it was told to end, and takes a moment for it.
PATIENT = """
import os, signal, sys, time
from pathlib import Path
told = []
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: told.append(number))
Path("{name}-pid").write_text(str(os.getpid()))
Path("{name}-up").touch()
while not told:
    time.sleep(0.01)
time.sleep(0.5)
Path("{name}-told").write_text(" ".join(str(int(number)) for number in told))
sys.exit({code})
"""


def patient(name: str, code: int = 0) -> str:
    return PATIENT.format(name=name, code=code)


def command(*servers: str) -> list[str]:
    return [sys.executable, "-c", RUN, *servers]


def wait_until_up(folder: Path, *names: str) -> None:
    wait_until(lambda: all((folder / f"{name}-up").exists() for name in names), "the servers")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_each_server_once_and_the_end_is_a_good_one(tmp_path: Path, number: signal.Signals) -> None:
    with started_process(command(patient("one"), patient("other")), folder=tmp_path) as process:
        wait_until_up(tmp_path, "one", "other")
        process.send_signal(number)
        assert ended(process).code == 0
    assert {(tmp_path / f"{name}-told").read_text() for name in ("one", "other")} == {str(int(number))}


def test_ctrl_c_on_a_terminal_reaches_each_server_once_too(tmp_path: Path) -> None:
    # A terminal signals its whole foreground group; the servers are in groups of their own.
    with started_process(command(patient("one"), patient("other")), folder=tmp_path, with_children=True) as process:
        wait_until_up(tmp_path, "one", "other")
        signal_group(process.pid, signal.SIGINT)
        assert ended(process).code == 0
    assert {(tmp_path / f"{name}-told").read_text() for name in ("one", "other")} == {str(int(signal.SIGINT))}


def test_the_servers_end_also_where_nobody_is_left_to_tell_them(tmp_path: Path) -> None:
    need(sys.platform == "linux" and which("setpriv") is not None, "setpriv of util-linux")
    with started_process(command(patient("one"), patient("other")), folder=tmp_path) as process:
        wait_until_up(tmp_path, "one", "other")
        process.kill()
    try:
        wait_until(lambda: all((tmp_path / f"{name}-told").exists() for name in ("one", "other")), "their end", within_seconds=20)
    finally:
        for name in ("one", "other"):
            with suppress(ProcessLookupError):
                os.kill(int((tmp_path / f"{name}-pid").read_text()), signal.SIGKILL)


def signal_group(leader: int, number: signal.Signals) -> None:
    subprocess.run(["kill", f"-{number.name.removeprefix('SIG')}", "--", f"-{leader}"], check=True)


def test_a_server_that_ends_by_itself_ends_the_other_and_is_named(tmp_path: Path) -> None:
    dying = "import time; from pathlib import Path\nwhile not Path('one-up').exists(): time.sleep(0.01)"
    with started_process(command(patient("one"), dying), folder=tmp_path) as process:
        done = ended(process)
    assert done.code == 2
    assert "error: other has ended by itself (exit code 0)" in done.err
    assert (tmp_path / "one-told").read_text() == str(int(signal.SIGTERM))


def test_a_server_that_ends_badly_makes_a_bad_end(tmp_path: Path) -> None:
    with started_process(command(patient("one"), patient("other", code=7)), folder=tmp_path) as process:
        wait_until_up(tmp_path, "one", "other")
        process.send_signal(signal.SIGTERM)
        assert ended(process).code == 2


def test_a_signal_is_heard_where_a_script_started_it_with_sigint_ignored(tmp_path: Path) -> None:
    script = 'trap "" INT; exec "$@"'
    with started_process(["sh", "-c", script, "sh", *command(patient("one"), patient("other"))], folder=tmp_path) as process:
        wait_until_up(tmp_path, "one", "other")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert ended(process).code == 0


# A server with a child, as `dagster dev` has its web server and its daemon; it is killed before it could end that.
WITH_A_CHILD = """
import os, signal, subprocess, sys
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
Path("child-pid").write_text(str(child.pid))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_server_has_started_ends_too(tmp_path: Path) -> None:
    with started_process(command(WITH_A_CHILD, patient("other")), folder=tmp_path) as process:
        assert ended(process).code == 2
    child = int((tmp_path / "child-pid").read_text())
    wait_until(lambda: not is_alive(child), "the child to end", within_seconds=10)


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and that nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
