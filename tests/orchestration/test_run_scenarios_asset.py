"""Running scenarios under Dagster: the batch that is stored, what is said of it, and what is no batch."""

import logging
import shutil
from pathlib import Path

import dagster as dg
import pytest

from evalplatform.runs.records import Batch
from tests.support.runs_project import QUIET, RunsProject
from tests.support.starter_project import failure_of, materializations, value_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "refund-agent"


@pytest.fixture
def runs(tmp_path: Path) -> RunsProject:
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLE, folder)
    return RunsProject(folder)


def run_job(project: RunsProject, *, raise_on_error: bool = True, **config: object) -> dg.ExecuteInProcessResult:
    job = project.definitions.resolve_job_def("run_scenarios")
    settings = {**QUIET, "ops": {"runs__run_scenarios": {"config": config}}}
    return job.execute_in_process(instance=project.instance, run_config=settings, raise_on_error=raise_on_error)


def stored(runs: RunsProject) -> list[Batch]:
    with runs.opened() as opened:
        return list(opened.batch_store.batches())


def test_the_job_runs_the_scenarios_and_the_sensor_takes_up_their_batch(runs: RunsProject) -> None:
    made = materializations(run_job(runs, runs=2, commit="c0ffee1", scenarios=["two-orders"]))
    assert set(made) == {"scenario_set", "run_scenarios"}
    (batch,) = stored(runs)
    shown = {name: value_of(made["run_scenarios"], name) for name in ("batch", "runs", "graded", "made_now", "kept_from_before", "commit")}
    assert shown == {"batch": batch.id, "runs": 2, "graded": 2, "made_now": 2, "kept_from_before": 0, "commit": "c0ffee1"}
    assert value_of(made["run_scenarios"], "scanned_for_violations") == "2 of 2 runs with steps"
    (request,) = runs.look().run_requests or []
    assert request.partition_key == batch.id


def test_an_agent_that_cannot_be_run_leaves_no_batch(runs: RunsProject) -> None:
    scenarios = runs.folder / "scenarios.yaml"
    scenarios.write_text(scenarios.read_text().replace('python: {callable: "refund_agent:answer"}', 'http: {url: "http://127.0.0.1:1/"}'))
    failed = run_job(runs, raise_on_error=False, runs=1)
    assert failure_of(failed).startswith("No run could be graded, so that nothing was stored. unreachable: ")
    assert stored(runs) == []


def test_a_scenario_that_there_is_not_is_named_with_the_nearest(runs: RunsProject) -> None:
    failed = run_job(runs, raise_on_error=False, scenarios=["two-order"])
    assert "two-orders" in failure_of(failed)


def test_a_batch_that_the_cap_cut_short_is_stored_and_warned_of(runs: RunsProject) -> None:
    done = run_job(runs, runs=1, max_cost_usd=1)
    assert [batch.truncated for batch in stored(runs)] == [True]
    warnings = [entry.user_message for entry in runs.instance.all_logs(done.run_id) if entry.level == logging.WARNING]
    assert any(message.startswith("The batch is truncated: the agent does not state what a run costs") for message in warnings)
