"""Taking runs out of old batches under Dagster: what the job leaves, when it runs by itself, what is said of them then."""

from pathlib import Path

import dagster as dg
import pytest

from evalplatform.runs.records import Batch
from tests.support.recorded_batches import NOW, recorded
from tests.support.runs_project import QUIET, RunsProject
from tests.support.starter_project import failure_of, materializations, value_of

RULE = "version: 1\nproject: probe\nretention:\n  compact_after_days: 30\n  expire_after_days: 90\n"


@pytest.fixture
def runs(tmp_path: Path) -> RunsProject:
    made = RunsProject.written_to(tmp_path / "project")
    made.file.write_text(RULE)
    return made


def pushed(runs: RunsProject, *ages_days: float) -> list[Batch]:
    with runs.opened() as opened:
        behind_days = (NOW - opened.clock.now()).total_seconds() / 86_400
    batches = runs.push(*(recorded({"refund": "PFP", "b": "P"}, days_ago=behind_days + age, commit=f"c{age}") for age in ages_days))
    runs.register(*batches)
    return batches


def run_job(runs: RunsProject) -> dg.AssetMaterialization:
    job = runs.definitions.resolve_job_def("retain_runs")
    return materializations(job.execute_in_process(instance=runs.instance, run_config=QUIET))["retain_runs"]


def test_the_job_takes_runs_out_of_old_batches_and_says_which(runs: RunsProject) -> None:
    young, old, oldest = pushed(runs, 1, 31, 91)
    made = run_job(runs)
    names = ("batches_changed", "batches_held", "runs_removed", "trajectories_removed", "whole", "compacted", "expired")
    assert {name: value_of(made, name) for name in names} == {
        "batches_changed": 2,
        "batches_held": 0,
        "runs_removed": 6,
        "trajectories_removed": 0,
        "whole": 1,
        "compacted": 1,
        "expired": 1,
    }
    assert "2 batches lost 6 runs" in value_of(made, "result")
    assert f"| {old.id} |" in value_of(made, "preview")
    assert young.id not in value_of(made, "preview")
    with runs.opened() as opened:
        assert [len(list(opened.batch_store.runs(batch.id))) for batch in (young, old, oldest)] == [4, 2, 0]


def test_it_runs_daily_where_the_project_file_says_when_runs_go_and_is_off_elsewhere(runs: RunsProject) -> None:
    pushed(runs, 1)
    schedule = runs.definitions.resolve_schedule_def("retain_runs")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
    (request,) = schedule.evaluate_tick(dg.build_schedule_context(instance=runs.instance)).run_requests or ()
    assert request.partition_key is None
    for rule in ("", "retention:\n", "retention: {}\n"):
        runs.file.write_text(f"version: 1\nproject: probe\n{rule}")
        assert runs.definitions.resolve_schedule_def("retain_runs").default_status is dg.DefaultScheduleStatus.STOPPED


def test_without_a_rule_the_job_changes_nothing_and_says_so(runs: RunsProject) -> None:
    runs.file.write_text("version: 1\nproject: probe\n")
    pushed(runs, 900)
    made = run_job(runs)
    assert "No batch lost a run" in value_of(made, "result")
    assert "Every run is kept" in value_of(made, "result")
    assert value_of(made, "whole") == 1


def test_what_became_of_a_batch_is_said_where_it_is_made_again(runs: RunsProject) -> None:
    young, old, oldest = pushed(runs, 1, 31, 91)
    run_job(runs)
    made = materializations(runs.materialize(["batches"], old))["batches"]
    assert value_of(made, "retention") == "compacted: one run of each scenario is kept"
    assert (value_of(made, "runs"), value_of(made, "dagster/partition_row_count")) == (2, 2)
    expired = materializations(runs.materialize(["batches"], oldest))["batches"]
    assert value_of(expired, "retention") == "expired: its runs are no longer kept"
    assert value_of(expired, "runs") == 0
    compared = materializations(runs.materialize(["batch_comparisons"], young))["batch_comparisons"]
    assert "The baseline is compacted: one run of each scenario is kept." in value_of(compared, "notices")
    refused = runs.materialize(["batch_comparisons"], oldest, raise_on_error=False)
    assert f"{oldest.id} has expired" in failure_of(refused)
