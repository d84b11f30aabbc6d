"""Nights under the real daemon, whose daemon and code server are killed in the middle: none is lost, none is doubled, each ends true.

CI kills once, runs and all. With EVALPLATFORM_SOAK=1 the run's process is left behind as well: an orphan that goes on with its night.
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from assets.monitoring_materialized import monitoring_key
from evalplatform.cli.orchestration.home import prepare_dagster_home
from evalplatform.runs.bundle import read_bundle
from evalplatform.runs.night import Night
from evalplatform.runs.schedule import HOUR_SECONDS
from evalplatform.stages.night_legs import nights_folder
from tests.support.deployment import Deployment, kill_session, wait_for
from tests.support.dev_server import free_port
from tests.support.monitored_project import MonitoredProject
from tests.support.planned_agent import running_agent

pytestmark = pytest.mark.system

SOAK = os.environ.get("EVALPLATFORM_SOAK") == "1"
MONITOR_AGENT = "evalplatform-monitor/1"
RUNS_OF_A_NIGHT = 8
QUICK = {"poll_interval_seconds: 30": "poll_interval_seconds: 1"}
SOON = timedelta(seconds=15)


@dataclass
class Served:
    """A monitored project under a daemon and a code server of its own."""

    monitored: MonitoredProject
    deployment: Deployment
    port: int

    @contextmanager
    def running(self, number: int) -> "Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]]":
        """Run both; what is still there at the end is killed."""
        at = ("--grpc-host", "127.0.0.1", "--grpc-port", str(self.port))
        server = ("dagster", "api", "grpc", "--host", "127.0.0.1", "--port", str(self.port), "--module-name", "evalplatform.definitions")
        with self.deployment.running(f"server-{number}", *server) as code_server:
            wait_for(
                lambda: "Started Dagster code server" in self.deployment.logs(), seconds=120, what="it serves", deployment=self.deployment
            )
            with self.deployment.running(f"daemon-{number}", "dagster._daemon", "run", *at) as daemon:
                yield daemon, code_server

    def start_schedule(self) -> None:
        """Start the sentinel's schedule, as a person does in the UI."""
        command = [sys.executable, "-m", "dagster", "schedule", "start", "sentinel_schedule", "--grpc-host", "127.0.0.1"]
        command += ["--grpc-port", str(self.port)]
        environment = dict(self.deployment.environment)
        done = subprocess.run(command, cwd=self.deployment.home, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    @property
    def finished(self) -> set[tuple[str, int]]:
        """The live runs of the monitor's night that its bundle holds."""
        bundles = nights_folder(self.monitored.runs.project).glob("checkout.*.live.*.jsonl")
        return {(run.scenario_id, run.order) for bundle in bundles for run in read_bundle(bundle).runs}

    @property
    def asked(self) -> Counter[tuple[str, int]]:
        """How often the monitor has asked for each run; the sentinel asks the same agent under another name."""
        agent = self.monitored.agent
        return Counter(run for run, headers in zip(agent.asked, agent.headers, strict=False) if headers.get("User-Agent") == MONITOR_AGENT)

    def ended(self, stream: str) -> list[Night]:
        return [night for night in self.monitored.nights(stream) if night.state != "pending"]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with running_agent(refund="PPSS", cancel="PPSS") as agent:
        monitored = MonitoredProject.written_to(tmp_path / "project", agent, monkeypatch)
        monkeypatch.setenv("EVALPLATFORM_CLOCK_OFFSET_SECONDS", "0")
        now = datetime.now(UTC).replace(microsecond=0)
        monitored.runs.file.write_text(f"{monitored.runs.file.read_text()}sentinel: {{at: '{now + SOON + timedelta(minutes=1):%H:%M}'}}\n")
        due, before = now - timedelta(minutes=5), now - timedelta(minutes=10)
        monitored.schedule(cadence_seconds=HOUR_SECONDS, first_at=due, active_since=before, saved_at=before)
        yield _deployed(monitored)


def _deployed(monitored: MonitoredProject) -> Served:
    home = prepare_dagster_home(monitored.runs.project)
    settings = (home / "dagster.yaml").read_text()
    for slow, quick in QUICK.items():
        assert settings.count(slow) == 1
        settings = settings.replace(slow, quick)
    (home / "dagster.yaml").write_text(settings)
    path = os.pathsep.join(part for part in sys.path if part)
    environment = {**os.environ, "DAGSTER_HOME": str(home), "EVALPLATFORM_PROJECT": str(monitored.runs.folder), "PYTHONPATH": path}
    return Served(monitored, Deployment(home, environment), free_port())


@pytest.mark.timeout(600)
@pytest.mark.parametrize("leaves_an_orphan", [False, *([True] if SOAK else [])])
def test_a_night_whose_daemon_and_code_server_are_killed_ends_once_and_asks_no_finished_run_again(
    served: Served, leaves_an_orphan: bool
) -> None:
    wait = {"deployment": served.deployment}
    with served.running(1) as (daemon, code_server):
        served.start_schedule()
        wait_for(lambda: len(served.finished) >= 2, seconds=180, what="some runs of the night end", **wait)  # type: ignore[arg-type]
        kill_session(daemon)
        if leaves_an_orphan:
            os.kill(code_server.pid, signal.SIGKILL)
        else:
            kill_session(code_server)
        finished, asked = served.finished, served.asked
        assert not served.ended("checkout")
        assert len(finished) < RUNS_OF_A_NIGHT
        with served.running(2):
            wait_for(lambda: bool(served.ended("checkout")), seconds=240, what="the night ends", **wait)  # type: ignore[arg-type]
            wait_for(lambda: bool(served.ended("sentinel")), seconds=240, what="the sentinel's night ends", **wait)  # type: ignore[arg-type]
            with served.deployment.instance() as instance:
                wait_for(lambda: _known(instance) == (1, 1), seconds=120, what="Dagster knows both", **wait)  # type: ignore[arg-type]
                runs = instance.get_runs(dg.RunsFilter(job_name="monitoring_night"))
    (night,) = served.monitored.nights("checkout")
    assert (night.state, night.reason) == ("checked_clean", None)
    assert night.attempt == (1 if leaves_an_orphan else 2)
    assert [(scenario.graded, scenario.failed) for scenario in night.scenarios] == [(4, 0), (4, 0)]
    assert all(served.asked[run] == asked[run] == 1 for run in finished), "a finished run was asked again"
    assert served.asked.total() <= RUNS_OF_A_NIGHT + RUNS_OF_A_NIGHT - len(finished)
    (of_day,) = served.monitored.nights("sentinel")
    assert of_day.state == "checked_clean"
    assert len(runs) == len({run.tags["evalplatform/attempt"] for run in runs})
    assert not list(nights_folder(served.monitored.runs.project).glob("*.jsonl"))


def _known(instance: dg.DagsterInstance) -> tuple[int, int]:
    """How many nights of each kind Dagster knows as materialized."""
    monitors, sentinels = (instance.get_materialized_partitions(monitoring_key(f"{kind}_nights")) for kind in ("monitoring", "sentinel"))
    return len(monitors), len(sentinels)


def test_the_settings_of_a_project_have_a_launcher_that_sees_dead_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_agent() as agent:
        served = _deployed(MonitoredProject.written_to(tmp_path / "project", agent, monkeypatch))
    with served.deployment.instance() as instance:
        assert instance.run_launcher.supports_check_run_worker_health
