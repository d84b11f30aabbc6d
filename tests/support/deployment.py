"""A deployment as infra/ describes it, on this machine: Dagster's instance on Postgres, a daemon, Celery workers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import dagster as dg
import pytest

from evalplatform.cli.orchestration.home import WORKSPACE
from tests.support.servers import PostgresServer

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Deployment:
    """A Dagster home with the settings of infra/, and the environment that its processes are started with."""

    home: Path
    environment: Mapping[str, str]

    def instance(self) -> dg.DagsterInstance:
        """The instance as this process opens it; the environment has to be this process's too."""
        return dg.DagsterInstance.from_config(os.fspath(self.home))

    @contextmanager
    def running(self, name: str, *command: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a module of Python in a session of its own, with its output in NAME.log, until the block ends."""
        with (self.home / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command], cwd=self.home, env=dict(self.environment), stdout=log, stderr=log, start_new_session=True
            )
        try:
            yield process
        finally:
            kill_session(process)

    def logs(self) -> str:
        """The ends of all logs, for the message of a failed test."""
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}" for log in sorted(self.home.glob("*.log")))


def kill_session(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and all that it started, as a machine that fails would."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def deployed(
    settings_file: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    postgres: PostgresServer,
    project: Path,
    replacements: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Deployment:
    """Return a deployment with a settings file of infra/; its variables are set in this process as well."""
    home = folder / "dagster-home"
    home.mkdir()
    text = (ROOT / "infra" / settings_file).read_text(encoding="utf-8")
    for old, new in (replacements or {}).items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (home / "dagster.yaml").write_text(text)
    (home / "workspace.yaml").write_text(WORKSPACE)
    own = {
        "DAGSTER_HOME": os.fspath(home),
        "DAGSTER_POSTGRES_HOST": "",  # the tests' server listens on a socket alone, which the name of the database brings along
        "DAGSTER_POSTGRES_USER": "postgres",
        "DAGSTER_POSTGRES_PASSWORD": "",
        "DAGSTER_POSTGRES_DB": f"{urlsplit(postgres.new_database()).path[1:]}?host={postgres.socket_folder}",
        "DAGSTER_COMPUTE_LOGS": os.fspath(home / "logs"),
        "EVALPLATFORM_PROJECT": os.fspath(project),
        **(variables or {}),
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DAGSTER_", "EVALPLATFORM_"))}
    path = os.pathsep.join(part for part in sys.path if part)
    return Deployment(home, {**inherited, **own, "PYTHONPATH": path})


@contextmanager
def all_running(deployment: Deployment, commands: Mapping[str, tuple[str, ...]]) -> Iterator[dict[str, "subprocess.Popen[bytes]"]]:
    """Run several modules at once, by name."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(deployment.running(name, *command)) for name, command in commands.items()}


def wait_for(condition: Callable[[], bool], *, seconds: float, what: str, deployment: Deployment) -> None:
    """Ask again and again until it is so; fail with the logs when it is not in time."""
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at, f"not in {seconds:.0f} s: {what}\n{deployment.logs()}"
        time.sleep(0.3)
