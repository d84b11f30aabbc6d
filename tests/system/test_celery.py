"""Runs on Celery workers: one is killed in the middle of its run, and another takes the work up."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus
from dagster._core.storage.tags import RETRY_NUMBER_TAG

from assets.partitions import register_partitions
from evalplatform.project.load import Project
from tests.support.backfills import materialize_sources, request_backfill
from tests.support.deployment import Deployment, all_running, deployed, kill_session, wait_for
from tests.support.model_stub import ModelStub, running_stub
from tests.support.servers import PostgresServer
from tests.support.stub_project import CONCURRENCY, calls_seen, committed_calls, ledger_rows, more_cells, write_stub_project

pytestmark = pytest.mark.system

CELLS = 3
QUESTIONS = 20
LATENCY_SECONDS = 2.0
ANSWERS_OF_A_CELL = QUESTIONS * 2
ANSWERS = dg.AssetKey(["suites", "kettle", "arm_answers"])
WORKERS = ("first", "second")
QUICK = {  # what a deployment has minutes for, a test has seconds for
    "poll_interval_seconds: 30": "poll_interval_seconds: 1",
    "default_limit: 1 #": f"default_limit: {len(WORKERS)} #",
}
CALLS_IN_FLIGHT = CONCURRENCY // len(WORKERS)  # of one run, since as many share the endpoint


@dataclass(frozen=True)
class OnCelery:
    """A project of several cells, deployed with two Celery workers that are not started yet."""

    deployment: Deployment
    project: Project
    stub: ModelStub

    @property
    def folder(self) -> Path:
        return self.project.root


@pytest.fixture
def on_celery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer, postgres_url: str, redis_url: str
) -> Iterator[OnCelery]:
    pytest.importorskip("dagster_celery")
    with running_stub(latency_seconds=LATENCY_SECONDS) as stub:
        folder = write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS, database=postgres_url)
        project = more_cells(folder, cells=CELLS)
        deployment = deployed(
            "celery/dagster.yaml",
            tmp_path,
            monkeypatch,
            postgres=postgres,
            project=folder,
            replacements=QUICK,
            variables={
                "CELERY_BROKER_URL": redis_url,
                "CELERY_RESULT_BACKEND": redis_url,
                "EVALPLATFORM_RUNS_PER_ENDPOINT": str(len(WORKERS)),
                "STUB_KEY": "key-of-no-value",
            },
        )
        yield OnCelery(deployment, project, stub)


def test_a_backfill_completes_though_a_worker_is_killed_and_nothing_finished_is_asked_twice(on_celery: OnCelery) -> None:
    deployment, cells = on_celery.deployment, on_celery.project.cells_of("kettle")
    with deployment.instance() as instance:
        register_partitions(instance, on_celery.project)
        materialize_sources(on_celery.project, instance)
        backfill_id = request_backfill(on_celery.project, instance, [ANSWERS], [cell.key for cell in cells])
        commands = {name: _worker(name) for name in WORKERS} | {"daemon": ("dagster._daemon", "run", "-w", "workspace.yaml")}
        with all_running(deployment, commands) as processes:
            wait_for(lambda: on_celery.stub.most_in_flight > 0, seconds=120, what="a worker asks", deployment=deployment)
            worker, run_id = _busy_worker(instance, deployment)
            wait_for(lambda: len(ledger_rows(on_celery.folder)) > 0, seconds=60, what="calls are finished", deployment=deployment)
            finished = committed_calls(on_celery.folder)
            kill_session(processes[worker])
            wait_for(lambda: _ended(instance, backfill_id), seconds=240, what="the backfill ends", deployment=deployment)
        backfill = instance.get_backfill(backfill_id)
        assert backfill is not None
        assert backfill.status == BulkActionStatus.COMPLETED_SUCCESS, deployment.logs()
        killed = instance.get_run_by_id(run_id)
        assert killed is not None
        assert killed.status == dg.DagsterRunStatus.FAILURE
        retried = [run for run in instance.get_runs() if run.tags.get(RETRY_NUMBER_TAG)]
        assert {run.root_run_id for run in retried} == {run_id}
        assert instance.get_materialized_partitions(ANSWERS) == {cell.key for cell in cells}
    assert on_celery.stub.most_in_flight <= CONCURRENCY
    seen = calls_seen(on_celery.stub)
    assert len(committed_calls(on_celery.folder)) == CELLS * ANSWERS_OF_A_CELL
    assert all(seen[call] == 1 for call in finished)
    assert len({row.run_id for row in ledger_rows(on_celery.folder)}) == CELLS  # a retry goes on with the first run's spend cap
    assert 0 < sum(count - 1 for count in seen.values()) <= CALLS_IN_FLIGHT


def _worker(name: str) -> tuple[str, ...]:
    return (
        "celery",
        "-A",
        "resources.celery_app",
        "worker",
        "-Q",
        "dagster",
        "-c",
        "1",
        "-n",
        f"{name}@test",
        "--without-gossip",
        "-l",
        "INFO",
    )


def _busy_worker(instance: dg.DagsterInstance, deployment: Deployment) -> tuple[str, str]:
    """Which worker executes a run, and that run's id."""
    celery = instance.run_launcher.celery  # type: ignore[attr-defined]
    found: list[tuple[str, str]] = []

    def seen() -> bool:
        for run in instance.get_runs(filters=dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
            info = celery.AsyncResult(run.tags["dagster-celery/task_id"]).info
            if isinstance(info, dict) and "hostname" in info:
                found.append((info["hostname"].partition("@")[0], run.run_id))
        return bool(found)

    wait_for(seen, seconds=60, what="a started run names its worker", deployment=deployment)
    return found[0]


def _ended(instance: dg.DagsterInstance, backfill_id: str) -> bool:
    backfill = instance.get_backfill(backfill_id)
    return backfill is not None and backfill.status not in (BulkActionStatus.REQUESTED, BulkActionStatus.FAILING)
