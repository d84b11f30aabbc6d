"""The commands of the processes in docs/deployment.md, started as they are written there."""

import os
import re
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from evalplatform.cli.orchestration.home import prepare_dagster_home
from evalplatform.project.load import load_project
from tests.support.deployment import kill_session
from tests.support.dev_server import free_port
from tests.support.starter import starter

ROOT = Path(__file__).parents[2]
BINARIES = Path(sys.executable).parent
PATIENCE_SECONDS = 120.0


def commands_of_the_page() -> dict[str, str]:
    """Every command of the table of processes, by the process."""
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| ([\w ]+) \| `([^`]+)` \|", page.partition("## Processes")[2].partition("\n## ")[0], re.MULTILINE))


@pytest.mark.system
def test_the_processes_of_the_page_start_and_find_each_other(tmp_path: Path) -> None:
    file = starter(tmp_path / "project")
    home = prepare_dagster_home(load_project(file, environ={}))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DAGSTER_", "EVALPLATFORM_"))}
    path = os.pathsep.join([os.fspath(BINARIES), os.environ["PATH"]])
    environment = {**inherited, "PATH": path, "DAGSTER_HOME": os.fspath(home), "EVALPLATFORM_PROJECT": os.fspath(file)}
    ports = {"4000": str(free_port()), "3000": str(free_port()), "8787": str(free_port())}
    commands = commands_of_the_page()
    code_location, daemon, web_server, web_app = (
        _here(commands[name], ports) for name in ("code location", "daemon", "web server", "web app")
    )

    def succeeds(*command: str) -> bool:
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False).returncode == 0

    with ExitStack() as stack:

        def start(command: list[str], answers: Callable[[], bool]) -> None:
            log = tmp_path / f"{Path(command[0]).name}-{command[1]}.log"
            with log.open("wb") as sink:
                process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=sink, stderr=sink, start_new_session=True)
            stack.callback(kill_session, process)
            give_up_at = time.monotonic() + PATIENCE_SECONDS
            while not answers():
                assert process.poll() is None, log.read_text(errors="replace")[-3000:]
                assert time.monotonic() < give_up_at, log.read_text(errors="replace")[-3000:]
                time.sleep(0.3)

        start(code_location, lambda: succeeds("dagster", "api", "grpc-health-check", "--port", ports["4000"]))
        start(web_server, lambda: "kettle" in _page(f"http://127.0.0.1:{ports['3000']}/graphql?query={{assetNodes{{groupName}}}}"))
        start(daemon, lambda: succeeds("dagster-daemon", "liveness-check"))
        start(web_app, lambda: bool(_page(f"http://127.0.0.1:{ports['8787']}/healthz")))


def _here(command: str, ports: dict[str, str]) -> list[str]:
    """The command with this machine for its hosts, and with ports that are free."""
    addresses = {"0.0.0.0": "127.0.0.1", "CODE_LOCATION": "127.0.0.1"} | ports  # as the page writes it
    return [addresses.get(part, part) for part in shlex.split(command)]


def _page(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return str(response.read(), "utf-8")
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return ""


def test_the_worker_of_the_page_is_the_one_that_compose_starts() -> None:
    compose = YAML(typ="safe", pure=True).load((ROOT / "infra" / "docker-compose.yaml").read_text(encoding="utf-8"))
    assert compose["services"]["worker"]["command"].startswith(f"{commands_of_the_page()['Celery worker']} ")
