"""Asset checks in Dagster: recorded partition by partition, and what one that blocks stops."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.event_api import PartitionKeyFilter  # what the UI asks for a partition's checks by; there is no public way to
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecord

from tests.support.starter_project import (
    QUIET,
    SCORED,
    SOURCES,
    StarterProject,
    failure_of,
    key_of,
    materializations,
    materialized_partitions,
)

BLOCKED_ANSWERS = {"suites.kettle.checks": {"empty_retrieval": {"most_empty_rate": 0.1, "blocking": True}}}
BLOCKED_SCORES = {"suites.kettle.checks": {"constant_scores": {"least_distinct_points": 9, "blocking": True}}}


@pytest.fixture
def starter(tmp_path: Path) -> StarterProject:
    return StarterProject.written_to(tmp_path / "project")


def checks_of(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str | None], dg.AssetCheckEvaluation]:
    return {(one.check_name, one.partition): one for one in result.get_asset_check_evaluations()}


def latest(starter: StarterProject, asset: str, check: str, partition: str) -> AssetCheckExecutionRecord | None:
    """What the UI shows of a check at a partition."""
    records = starter.instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(key_of(asset), check), limit=1, partition_filter=PartitionKeyFilter(key=partition)
    )
    return records[0] if records else None


def test_what_a_check_found_is_recorded_with_its_number_limit_and_materialization(starter: StarterProject) -> None:
    starter.materialize(SOURCES)
    result = starter.materialize(["arm_answers"], starter.cell_key)
    found = checks_of(result)
    # Offline calls are priced at nothing, and no answer came from the ledger.
    assert {(name, one.passed) for (name, _), one in found.items()} == {
        ("empty_retrieval", True),
        ("unpriced", True),
        ("all_cached", True),
        ("equal_arms", True),
    }
    empty = found["empty_retrieval", starter.cell_key]
    shown = {name: value.value for name, value in empty.metadata.items() if name != "examples"}
    assert shown == {
        "partition": starter.cell_key,
        "value": 0.25,
        "unit": "share of the worst arm's rows",
        "limit": 0.25,
        "setting": "suites.kettle.checks.empty_retrieval.most_empty_rate",
    }
    assert (empty.severity, empty.blocking) == (dg.AssetCheckSeverity.WARN, False)
    assert (empty.description or "").startswith("docs: 25.0% of 8 prompts")
    (made,) = starter.instance.fetch_materializations(key_of("arm_answers"), limit=1).records
    assert empty.target_materialization_data is not None
    assert empty.target_materialization_data.storage_id == made.storage_id


def test_a_check_that_could_not_be_made_is_no_pass(starter: StarterProject) -> None:
    starter.materialize(SOURCES)
    result = starter.materialize(["arm_answers"], starter.cell_key)
    scored = starter.materialize(SCORED, starter.score_key)
    assert result.success
    assert {name for name, _ in checks_of(scored)} == {"self_judging", "stale_prompts", "coverage", "constant_scores"}
    planned = latest(starter, "judged_scores", "unpriced", str(starter.score_key))  # the offline judge pays for nothing
    assert planned is not None
    assert planned.status.value == "PLANNED"  # which the UI shows as skipped, once the run is over


def test_answers_that_only_replayed_are_told_and_stop_nothing(starter: StarterProject) -> None:
    starter.materialize(SOURCES)
    starter.materialize(["arm_answers"], starter.cell_key)
    arms = starter.project.settings.suites["kettle"].arms
    starter.edit({"suites.kettle.arms": [str(arm) for arm in reversed(arms)]})
    starter.materialize(SOURCES)
    result = starter.materialize(["arm_answers"], starter.cell_key)
    assert result.success
    told = checks_of(result)["all_cached", starter.cell_key]
    assert (told.passed, told.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "nothing was measured anew" in (told.description or "")


def test_a_blocking_check_of_answers_keeps_them_and_fails_with_number_limit_and_setting(starter: StarterProject) -> None:
    starter.edit(BLOCKED_ANSWERS)
    starter.materialize(SOURCES)
    result = starter.materialize(["arm_answers"], starter.cell_key, raise_on_error=False)
    assert not result.success
    assert set(materializations(result)) == {"arm_answers"}
    told = checks_of(result)["empty_retrieval", starter.cell_key]
    assert (told.passed, told.severity, told.blocking) == (False, dg.AssetCheckSeverity.ERROR, True)
    said = failure_of(result)
    assert said.startswith("suites.kettle.checks.empty_retrieval: ")
    for part in (starter.cell_key, "docs: 25.0% of 8 prompts", "most_empty_rate 0.1"):
        assert part in said


def test_scores_of_blocked_answers_are_not_made_by_a_run_of_their_own_either(starter: StarterProject) -> None:
    starter.materialize(SOURCES)
    starter.materialize(["arm_answers"], starter.cell_key)
    starter.edit(BLOCKED_ANSWERS)
    result = starter.materialize(SCORED, starter.score_key, raise_on_error=False)
    assert not result.success
    assert materializations(result) == {}
    assert "checks.empty_retrieval" in failure_of(result)


def test_a_blocking_check_of_scores_stops_what_comes_after_them(starter: StarterProject) -> None:
    starter.edit(BLOCKED_SCORES)
    starter.materialize(SOURCES)
    starter.materialize(["arm_answers"], starter.cell_key)
    result = starter.materialize(SCORED, starter.score_key, raise_on_error=False)
    assert not result.success
    assert set(materializations(result)) == {"judged_scores"}
    assert f"judged_scores of {starter.cell_key}/{starter.project.judges_of('kettle')[0].key}" in failure_of(result)


def test_in_one_run_over_several_partitions_the_blocked_one_fails_alone_and_is_named(starter: StarterProject) -> None:
    # The twin asks what the reader asks, under another harness: all of its answers come from the ledger.
    reader = starter.project.settings.cells["reader"].model_dump(mode="json", exclude_unset=True)
    starter.edit({"cells.twin": {**reader, "harness": "twin"}, "suites.kettle.cells": ["reader", "twin"]})
    starter.register()
    starter.answer()
    starter.edit({"suites.kettle.checks": {"all_cached": {"blocking": True}}})
    of_reader, of_twin = starter.score_keys()
    result = starter.materialize_batch(SCORED, [of_reader, of_twin], raise_on_error=False)
    assert not result.success
    assert {key for _, key in materialized_partitions(result)} == {of_reader}
    lines = failure_of(result).splitlines()
    assert lines[0] == "1 of 2 partitions failed; 1 finished and stay materialized."
    assert lines[1].startswith(
        f"{of_twin}: suites.kettle.checks.all_cached: the check 'all_cached' blocks, and failed for arm_answers of twin-"
    )
    # What the UI shows by partition: the answers' check failed for the twin alone, and the scores' checks are of the reader.
    passed = {key: _status(starter, "arm_answers", "all_cached", key.keys_by_dimension["cell"]) for key in (of_reader, of_twin)}
    assert passed == {of_reader: "SUCCEEDED", of_twin: "FAILED"}
    assert _status(starter, "judged_scores", "coverage", str(of_reader)) == "SUCCEEDED"
    assert _status(starter, "judged_scores", "coverage", str(of_twin)) == "PLANNED"


def _status(starter: StarterProject, asset: str, check: str, partition: str) -> str:
    record = latest(starter, asset, check, partition)
    assert record is not None
    assert record.partition == partition
    return record.status.value


def test_checks_can_be_made_again_without_their_asset(starter: StarterProject) -> None:
    starter.materialize(SOURCES)
    starter.materialize(["arm_answers"], starter.cell_key)
    starter.edit({"suites.kettle.checks": {"empty_retrieval": {"most_empty_rate": 0.1}}})
    definitions = starter.definitions
    result = dg.materialize(
        list(definitions.assets or []),
        selection=dg.AssetSelection.checks(dg.AssetCheckKey(key_of("arm_answers"), "empty_retrieval")),
        resources=definitions.resources,
        instance=starter.instance,
        run_config=QUIET,
        tags={"dagster/partition": starter.cell_key},
    )
    assert materializations(result) == {}
    assert checks_of(result)["empty_retrieval", starter.cell_key].passed is False


def test_a_suite_with_a_threshold_has_verdicts_and_one_without_has_none(starter: StarterProject) -> None:
    assert key_of("verdicts") not in starter.definitions.resolve_asset_graph().get_all_asset_keys()
    starter.edit({"suites.kettle.pass_points": 70})
    graph = starter.definitions.resolve_asset_graph()
    assert graph.get(key_of("verdicts")).parent_keys == {key_of("judged_scores")}
    assert key_of("verdicts") in graph.get(key_of("arms_report")).parent_keys
    starter.materialize(SOURCES)
    starter.materialize(["arm_answers"], starter.cell_key)
    made = materializations(starter.materialize([*SCORED, "verdicts"], starter.score_key))["verdicts"]
    shown = {
        name: made.metadata[name].value
        for name in ("pass_points", "calls_paid", "calls_replayed", "failures", "dagster/partition_row_count")
    }
    assert shown == {"pass_points": 70.0, "calls_paid": 0, "calls_replayed": 0, "failures": 0, "dagster/partition_row_count": 40}
    assert str(made.metadata["policy_key"].value).startswith("p-")
    assert "| docs |" in str(made.metadata["result"].value)
    assert str(made.metadata["preview"].value).startswith("| question_id | arm | verdict | points | reason |")
