"""Runs that ask one endpoint take turns, and a cancelled one lets the next go on."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from assets.partitions import register_partitions
from evalplatform.cli.orchestration.home import prepare_dagster_home
from evalplatform.project.load import Project
from tests.support.backfills import materialize_sources, request_backfill
from tests.support.deployment import Deployment, wait_for
from tests.support.model_stub import ModelStub, running_stub
from tests.support.stub_project import more_cells, write_stub_project

pytestmark = pytest.mark.system

ANSWERS = dg.AssetKey(["suites", "kettle", "arm_answers"])
LONGER_THAN_THE_TEST_SECONDS = 600.0


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with running_stub(latency_seconds=LONGER_THAN_THE_TEST_SECONDS) as stub:
        yield stub


@pytest.fixture
def project(tmp_path: Path, stub: ModelStub) -> Project:
    return more_cells(write_stub_project(tmp_path / "project", stub.url, questions=2), cells=2)


def test_a_cancelled_run_does_not_keep_its_pool_slot(project: Project, stub: ModelStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "key-of-no-value")
    home = prepare_dagster_home(project)
    settings = home / "dagster.yaml"
    settings.write_text(settings.read_text().replace("max_concurrent_runs: 2 ", "max_concurrent_runs: 5 "))  # only the pool holds back
    path = os.pathsep.join(part for part in sys.path if part)
    environment = {**os.environ, "DAGSTER_HOME": str(home), "EVALPLATFORM_PROJECT": str(project.root), "PYTHONPATH": path}
    deployment = Deployment(home, environment)
    with deployment.instance() as instance:
        register_partitions(instance, project)
        materialize_sources(project, instance)
        request_backfill(project, instance, [ANSWERS], [cell.key for cell in project.cells_of("kettle")])
        with deployment.running("daemon", "dagster._daemon", "run", "-w", "workspace.yaml"):
            wait_for(lambda: stub.in_flight > 0, seconds=120, what="the first run asks", deployment=deployment)
            wait_for(lambda: len(_runs(instance, "QUEUED")) == 1, seconds=60, what="the second run waits", deployment=deployment)
            (first,), (second,) = _runs(instance, "STARTED"), _runs(instance, "QUEUED")
            assert instance.run_launcher.terminate(first.run_id)
            wait_for(
                lambda: [run.run_id for run in _runs(instance, "STARTED")] == [second.run_id],
                seconds=120,
                what="the second run starts",
                deployment=deployment,
            )


def _runs(instance: dg.DagsterInstance, status: str) -> list[dg.DagsterRun]:
    found = list(instance.get_runs(filters=dg.RunsFilter(statuses=[dg.DagsterRunStatus[status]])))
    return [run for run in found if run.tags.get("dagster/partition")]
