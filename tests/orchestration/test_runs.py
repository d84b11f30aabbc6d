"""The agent side under Dagster: what a batch, its comparison and unstable scenarios leave there, and which projects have these assets."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from assets.agent_side import agent_side_parts
from evalplatform.project.load import load_project
from evalplatform.runs.records import Batch, Violation
from evalplatform.stages import batch_comparisons
from evalplatform.stages.run_table import RUNS
from tests.support.graph_lines import graph_lines
from tests.support.recorded_batches import recorded
from tests.support.runs_project import QUIET, SCENARIOS, RunsProject
from tests.support.snapshots import assert_snapshot
from tests.support.starter_project import data_version_of, failure_of, materializations, value_of

SNAPSHOT = Path(__file__).parent / "snapshots" / "runs_graph.txt"
BEFORE = {"rebook": "F", "refund": "PP"}
AFTER = {"rebook": "F", "refund": "PF"}


@pytest.fixture
def runs(tmp_path: Path) -> RunsProject:
    return RunsProject.written_to(tmp_path / "project", scenarios=SCENARIOS)


def pushed_two(
    runs: RunsProject, before: Mapping[str, str] = BEFORE, after: Mapping[str, str] = AFTER, **facts: Any
) -> tuple[Batch, Batch]:
    """A baseline and a candidate, each with its partition; further facts are the candidate's."""
    baseline, candidate = runs.push(recorded(before, days_ago=1), recorded(after, **facts))
    runs.register(baseline, candidate)
    return baseline, candidate


def checks(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {check.check_name: check for check in result.get_asset_check_evaluations()}


def compared(runs: RunsProject, candidate: Batch) -> tuple[dg.AssetMaterialization, dict[str, dg.AssetCheckEvaluation]]:
    result = runs.materialize(["batch_comparisons"], candidate, raise_on_error=False)  # a gate that fails blocks
    return materializations(result)["batch_comparisons"], checks(result)


def test_a_comparison_names_both_batches_and_shows_what_it_found(runs: RunsProject) -> None:
    baseline, candidate = pushed_two(runs)
    made, _ = compared(runs, candidate)
    assert value_of(made, "verdict") == "regressed"
    assert value_of(made, "baseline") == f"{baseline.id} (the previous batch)"
    assert "Regressed: 1 of 2" in value_of(made, "result")
    assert "| refund | newly failing | 2/2 → 1/2 |" in value_of(made, "preview")
    assert (value_of(made, "newly_failing"), value_of(made, "compared"), value_of(made, "gate_would_fail")) == (1, 2, True)
    link = f"/download/runs/batch_comparisons/{candidate.id}/@{data_version_of(made)}/batch-comparison.html"
    assert value_of(made, "report_page").endswith(link)
    assert {name.removesuffix("_retention") for name in value_of(made, "input_digests")} == {"baseline", "candidate", "choice"}


def test_a_comparison_made_again_is_the_stored_one_until_its_code_changes(runs: RunsProject, monkeypatch: pytest.MonkeyPatch) -> None:
    _, candidate = pushed_two(runs)
    first, again = compared(runs, candidate)[0], compared(runs, candidate)[0]
    assert (value_of(first, "unchanged"), value_of(again, "unchanged")) == (False, True)
    assert data_version_of(first) == data_version_of(again)
    monkeypatch.setattr(batch_comparisons, "CODE_VERSION", "next")
    assert data_version_of(compared(runs, candidate)[0]) != data_version_of(first)


def test_every_compared_row_has_a_page_of_its_two_runs(runs: RunsProject) -> None:
    _, candidate = pushed_two(runs)
    compared(runs, candidate)
    with runs.opened() as opened:
        manifest = opened.runs_context().upstream("batch_comparisons", candidate.id)
        page = opened.catalog.read(manifest, "batch-comparison.html").decode()
        diff = opened.catalog.read(manifest, "diff.refund.html").decode()
        headline = json.loads(opened.catalog.read(manifest, "batch-comparison.json"))["headline"]
    assert headline["choice"] == "previous_batch"
    assert headline["first_divergence"]["scenario_id"] == "refund"
    assert f'{headline["sentence"]} <a href="diff.refund.html">Where they part</a>' in page
    assert 'href="diff.refund.html"' in page
    assert 'href="batch-comparison.html"' in diff
    assert "lookup" in diff


@pytest.mark.parametrize(
    ("before", "after", "passed"),
    [
        ({"refund": "P"}, {"refund": "F"}, False),
        ({"refund": "P"}, {"refund": "H"}, False),
        ({"refund": "F"}, {"refund": "P"}, True),
        ({"refund": "P"}, {"refund": "P"}, True),
        ({"refund": "P"}, {"rebook": "P"}, False),  # nothing could be compared, which is not known to be fine
        ({"refund": "U"}, {"refund": "P"}, False),
    ],
)
def test_no_regression_fails_where_the_batch_regressed_or_could_not_be_compared(
    before: dict[str, str], after: dict[str, str], passed: bool, runs: RunsProject
) -> None:
    _, candidate = pushed_two(runs, before, after)
    made, found = compared(runs, candidate)
    check = found["no_regression"]
    assert (check.passed, check.severity, check.blocking, check.partition) == (passed, dg.AssetCheckSeverity.ERROR, False, candidate.id)
    assert check.description
    assert check.description in value_of(made, "result").replace("\\", "")


def test_a_scan_that_left_runs_out_is_warned_of(runs: RunsProject) -> None:
    _, unscanned = pushed_two(runs, violations=None)
    check = compared(runs, unscanned)[1]["scan_coverage"]
    assert (check.passed, check.severity, check.blocking) == (False, dg.AssetCheckSeverity.WARN, False)
    assert "3 of 3 runs with steps of the baseline and 0 of 3 runs with steps of the candidate" in (check.description or "")


def test_a_wholly_scanned_pair_passes_the_check_also_with_violations(runs: RunsProject) -> None:
    _, candidate = pushed_two(runs, violations=(Violation(policy="no-card-numbers", step=2),))
    check = compared(runs, candidate)[1]["scan_coverage"]
    assert (check.passed, check.description) == (True, "Every run of both batches that has steps was scanned for violations.")


def test_checks_are_made_again_without_the_comparison(runs: RunsProject) -> None:
    _, candidate = pushed_two(runs)
    compared(runs, candidate)
    definitions = runs.definitions
    only_checks = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey(["runs", "batch_comparisons"]), "no_regression"))
    result = dg.materialize(
        list(definitions.assets or []),
        selection=only_checks,
        resources=definitions.resources,
        instance=runs.instance,
        run_config=QUIET,
        tags={"dagster/partition": candidate.id},
    )
    assert result.get_asset_materialization_events() == []
    assert checks(result)["no_regression"].passed is False


def test_the_first_batch_has_nothing_to_be_compared_with_and_says_so(runs: RunsProject) -> None:
    (first,) = runs.push(recorded(BEFORE))
    runs.register(first)
    failed = runs.materialize(["batch_comparisons"], first, raise_on_error=False)
    assert failure_of(failed).startswith(f"no batch that is still kept was recorded before {first.id}: a comparison needs two")


def test_a_batch_between_others_is_compared_with_the_one_just_before_it(runs: RunsProject) -> None:
    _, before, middle, _ = runs.push(*(recorded({"refund": "P"}, days_ago=number) for number in (9, 3, 2, 1)))
    runs.register(middle)
    assert value_of(compared(runs, middle)[0], "baseline") == f"{before.id} (the previous batch)"


def test_a_partition_without_a_batch_fails_with_the_nearest_id(runs: RunsProject) -> None:
    (batch,) = runs.push(recorded(BEFORE))
    gone = batch.with_changes(id=batch.id[:-1] + ("0" if batch.id[-1] != "0" else "1"))
    runs.register(gone)
    assert batch.id in failure_of(runs.materialize(["batches"], gone, raise_on_error=False))


def test_a_batch_is_stored_as_a_table_of_its_runs(runs: RunsProject) -> None:
    summary = recorded({"refund": "PFH", "rebook": "U"}, branch="main", truncated_reason="the spend cap was reached")
    (batch,) = runs.push(summary)
    runs.register(batch)
    made = materializations(runs.materialize(["batches"], batch))["batches"]
    shown = {name: value_of(made, name) for name in ("runs", "graded", "could_not_run", "ungraded", "branch", "truncated", "commit")}
    assert shown == {
        "runs": 4,
        "graded": 2,
        "could_not_run": 1,
        "ungraded": 1,
        "branch": "main",
        "truncated": "the spend cap was reached",
        "commit": "c0ffee1",
    }
    assert value_of(made, "result") == "0 of 2 scenarios passed in every graded run, 1 in some."
    with runs.opened() as opened:
        manifest = opened.runs_context().upstream("batches", batch.id)
        stored = tuple(RUNS.read(opened.catalog.read(manifest, "runs.parquet")))
    assert stored == summary.runs


def test_an_asset_of_ones_own_receives_the_runs_of_every_batch_as_a_dataframe(runs: RunsProject) -> None:
    batches = pushed_two(runs)
    for batch in batches:
        runs.materialize(["batches"], batch)
    received: list[pd.DataFrame] = []

    @dg.asset(ins={"table": dg.AssetIn(dg.AssetKey(["runs", "batches"]))})
    def slowest(table: pd.DataFrame) -> None:
        received.append(table)

    definitions = runs.definitions
    own = [*(definitions.assets or []), slowest]
    dg.materialize(own, selection=[slowest], resources=definitions.resources, instance=runs.instance, run_config=QUIET)
    (table,) = received
    assert set(table["partition"]) == {batch.id for batch in batches}
    assert (table["outcome"] == "passed").sum() == 3


def test_unstable_scenarios_are_stored_with_what_they_rest_on(runs: RunsProject) -> None:
    runs.push_recent(AFTER, BEFORE)
    made = materializations(runs.materialize(["unstable_scenarios"]))["unstable_scenarios"]
    assert value_of(made, "result") == "**1 of 2 scenarios that ran in several batches of one commit came out differently.**"
    assert "| refund | 3/4 | 1 |" in value_of(made, "preview")
    counts = {name: value_of(made, name) for name in ("unstable", "scenarios_compared", "repeated_commits", "batches_read")}
    assert counts == {"unstable": 1, "scenarios_compared": 2, "repeated_commits": 1, "batches_read": 2}
    assert value_of(materializations(runs.materialize(["unstable_scenarios"]))["unstable_scenarios"], "unchanged") is True
    runs.push_recent({"refund": "P"}, commit="other")
    assert value_of(materializations(runs.materialize(["unstable_scenarios"]))["unstable_scenarios"], "batches_read") == 3


def test_the_scenario_file_is_an_asset_with_its_digest(runs: RunsProject) -> None:
    made = materializations(runs.materialize(["scenario_set"]))["scenario_set"]
    assert (value_of(made, "scenarios"), value_of(made, "planned_runs")) == (1, 1)
    (runs.folder / "scenarios.yaml").write_text(SCENARIOS.replace("tool_called", "tool_cald"))
    failed = runs.materialize(["scenario_set"], raise_on_error=False)
    assert "scenarios.yaml:" in failure_of(failed)
    assert "tool_called" in failure_of(failed)


def test_the_graph_of_a_project_with_scenarios(runs: RunsProject) -> None:
    assert_snapshot(SNAPSHOT, "\n".join(graph_lines(runs.definitions)) + "\n")


def test_a_project_without_scenarios_has_the_assets_once_a_batch_was_pushed(tmp_path: Path) -> None:
    runs = RunsProject.written_to(tmp_path / "project")
    assert assets_of(runs) == set()
    assert not (runs.folder / ".evalplatform").exists()  # looking makes no database
    runs.push(recorded(BEFORE))
    assert assets_of(runs) == {
        "batches",
        "batch_comparisons",
        "gate_decisions",
        "gate_readiness",
        "run_plan",
        "retain_runs",
        "unstable_scenarios",
    }
    assert [sensor.name for sensor in runs.definitions.sensors or []] == ["project_partitions", "recorded_batches"]


@pytest.mark.parametrize("database", ["postgresql://nobody@127.0.0.1:1/none", "mysql://nobody@127.0.0.1/none", "sqlite:///no-database"])
def test_a_database_that_cannot_be_looked_at_hides_no_asset(database: str, tmp_path: Path) -> None:
    runs = RunsProject.written_to(tmp_path / "project")
    (runs.folder / "no-database").write_text("no database at all, but a text that is long enough to be taken for none" * 20)
    runs.file.write_text(f"version: 1\nproject: probe\ndatabase: {database}\n")
    assert agent_side_parts(load_project(runs.file)) == ("batches",)


def assets_of(runs: RunsProject) -> set[str]:
    return {key.path[-1] for key in runs.definitions.resolve_asset_graph().get_all_asset_keys()}
