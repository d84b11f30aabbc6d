"""`evalplatform sync` and `evalplatform doctor` on the agent side: batches without a partition, artifacts without an event, a reload."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus  # what the UI asks; there is no public way to
from dagster._core.loader import LoadingContextForTest

from assets.runs_materialized import runs_key
from evalplatform.cli.checkup.findings import Patient
from evalplatform.cli.main import exit_code
from evalplatform.cli.orchestration.checks import look_at_dagster
from evalplatform.cli.orchestration.home import prepare_dagster_home
from evalplatform.cli.orchestration.sync import CodeLocation, SyncReport
from evalplatform.cli.sync import report_lines
from tests.support.recorded_batches import recorded
from tests.support.runs_project import RunsProject


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunsProject]:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    runs = RunsProject.written_to(tmp_path / "project")
    with dg.DagsterInstance.from_config(str(prepare_dagster_home(runs.project))) as instance:
        yield RunsProject(runs.folder, instance)


def sync(runs: RunsProject, capsys: pytest.CaptureFixture[str], *flags: str) -> list[str]:
    assert exit_code(["sync", "--project", str(runs.folder), *flags]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_pushed_batch_is_registered_once(runs: RunsProject, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(sync(runs, capsys)) == 1  # without a batch there is nothing to say of batches
    (batch,) = runs.push(recorded({"refund": "P"}))
    assert sync(runs, capsys, "--dry-run")[0] == f"batches: would be added: 1 batch ({batch.id})"
    assert runs.instance.get_dynamic_partitions("runs.batches") == []
    assert sync(runs, capsys)[0] == f"batches: added: 1 batch ({batch.id})"
    assert runs.instance.get_dynamic_partitions("runs.batches") == [batch.id]
    assert len(sync(runs, capsys)) == 1


def test_what_dagster_lost_is_reported_from_the_store_with_its_checks_and_is_not_stale(
    runs: RunsProject, capsys: pytest.CaptureFixture[str]
) -> None:
    _, candidate = runs.push(recorded({"refund": "P"}, days_ago=1), recorded({"refund": "F"}))
    sync(runs, capsys)
    names = ("batches", "batch_comparisons", "gate_decisions")
    runs.materialize(names, candidate, raise_on_error=False)  # the gate fails, and blocks
    runs.instance.wipe_assets([runs_key(name) for name in names])
    said = sync(runs, capsys)
    assert said[0] == "batches: reported to Dagster from the store: 3 partitions that it did not know as materialized"
    assert "3 check results that it did not know" in said[1]
    assert f"no_regression of batch_comparisons/{candidate.id}" in said[1]
    assert f"gate of gate_decisions/{candidate.id}" in said[1]
    graph = runs.definitions.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(runs.instance, graph, loading_context=LoadingContextForTest(runs.instance))
    assert [resolver.get_status(runs_key(name), candidate.id) for name in names] == [StaleStatus.FRESH] * 3
    assert len(sync(runs, capsys)) == 1


def test_the_doctor_counts_batches_without_a_partition(runs: RunsProject, capsys: pytest.CaptureFixture[str]) -> None:
    def findings() -> list[str]:
        with runs.opened() as opened:
            found = look_at_dagster(Patient(opened=opened, environ={}))
        return [f"{finding.state}: {finding.found}" for finding in found if "stored batch" in finding.found]

    assert findings() == []
    runs.push(recorded({"refund": "P"}, days_ago=1), recorded({"refund": "F"}))
    assert findings() == ["warning: 2 stored batches have no partition in Dagster."]
    sync(runs, capsys)
    assert findings() == ["ok: Dagster has a partition for every stored batch."]


def test_a_code_location_from_before_the_first_batch_needs_a_reload() -> None:
    location = CodeLocation(looked_at=datetime(2026, 3, 1, 12, tzinfo=UTC), missing_agent_side=("batches",))
    assert location.needs_reload
    (line,) = report_lines(SyncReport(dry_run=False, suites=(), code_location=location))
    assert "needs a reload: it has no assets yet of batches" in line
