"""A matrix of two models and three plugin sets as Dagster partitions: its numbers, its refusals, its staleness, its failures."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus  # what the UI asks; there is no public way to
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from evalplatform.cli.main import exit_code
from evalplatform.stages.staleness import suite_states
from tests.support.matrix_instance import COMPARISONS, MatrixInstance, copied
from tests.support.matrix_project import CELLS, SUITE, write_matrix_project
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter_project import QUIET, SOURCES, failure_of, key_of, materialized_partitions, value_of

PLUGIN_CELLS = tuple(cell for cell in CELLS if not cell.endswith("plain"))
SCORED = ("judged_scores", "arm_summary")
FAILED = AssetCheckExecutionRecordStatus.FAILED
QUESTION = "What does part 0 of Kettle do"


@pytest.fixture(scope="module")
def stub() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, stub: ModelStub) -> Path:
    """The matrix with everything made by one backfill."""
    folder = write_matrix_project(tmp_path_factory.mktemp("made") / "project", stub.url)
    assert exit_code(["backfill", "--project", str(folder)]) == 0
    return folder


@pytest.fixture
def matrix(made: Path, tmp_path: Path) -> Iterator[MatrixInstance]:
    """A copy of the matrix, to be edited."""
    with MatrixInstance.opened_at(copied(made, tmp_path / "project")) as matrix:
        yield matrix


@pytest.fixture(scope="module")
def by_dagster(made: Path) -> Iterator[MatrixInstance]:
    """The matrix as the backfill left it, to be looked at."""
    with MatrixInstance.opened_at(made) as matrix:
        yield matrix


def test_every_plugin_cell_and_every_judge_is_a_partition_that_the_backfill_made(by_dagster: MatrixInstance) -> None:
    assert by_dagster.instance.get_materialized_partitions(key_of("plugin_deltas")) == {
        str(by_dagster.delta_key(cell)) for cell in PLUGIN_CELLS
    }
    for name in COMPARISONS:
        assert by_dagster.instance.get_materialized_partitions(key_of(name)) == {by_dagster.judge_key}
    assert not_fresh(by_dagster) == set()
    assert stale_in_dagster(by_dagster) == set()


def test_the_numbers_are_those_of_the_command_line(by_dagster: MatrixInstance, stub: ModelStub, tmp_path: Path) -> None:
    folder = write_matrix_project(tmp_path / "project", stub.url)
    out = tmp_path / "out"
    asked = ["arms", "matrix-run", "--suite", SUITE, "--judge", "--out-dir", str(out), "--project", str(folder)]
    assert exit_code(asked) == 0
    rollup = json.loads(by_dagster.stored("matrix_rollup", by_dagster.judge_key, "matrix-rollup.json"))
    by_command = json.loads((out / "matrix-rollup.json").read_text())
    assert numbers(rollup) == numbers(by_command)
    for delta in by_command["plugin_deltas"]:
        of_command = json.loads((out / delta["artifact"]).read_text())
        partition = str(by_dagster.delta_key(delta["plugin_cell"])).replace("|", "/")
        of_dagster = json.loads(by_dagster.stored("plugin_deltas", partition, "delta.json"))
        assert numbers(of_dagster) == numbers(of_command)
    assert {delta["plugin_cell"] for delta in by_command["plugin_deltas"]} == set(PLUGIN_CELLS)


def test_a_materialization_shows_the_delta_who_was_compared_and_where_the_files_are(by_dagster: MatrixInstance) -> None:
    key = by_dagster.delta_key("small-ultra")
    (made,) = materialized_partitions(by_dagster.materialize(["plugin_deltas"], key)).values()
    assert "| baseline |" in value_of(made, "result")
    assert value_of(made, "compared") == "- small-plain\n- small-ultra"
    assert value_of(made, "cell").startswith("small-ultra: model small")
    assert value_of(made, "judge").startswith("rubric: kind rubric")
    assert {"arm_summary:small-plain", "arm_summary:small-ultra"} <= set(value_of(made, "input_digests"))
    assert value_of(made, "report_page").endswith("/report.html")
    assert value_of(made, "complete") is True
    with by_dagster.opened() as opened:
        context = opened.suite_context(SUITE)
        manifest = context.upstream("plugin_deltas", str(key).replace("|", "/"))
    assert {(read.artifact.asset, read.artifact.partition) for read in manifest.lineage} == {
        (asset, partition)
        for cell in ("small-plain", "small-ultra")
        for asset, partition in [
            ("arm_answers", by_dagster.project.cell(cell).key),
            *((asset, str(by_dagster.delta_key(cell)).replace("|", "/")) for asset in SCORED),
        ]
    }


def test_a_comparison_over_many_cells_shows_its_table_and_whose_it_is(by_dagster: MatrixInstance) -> None:
    result = by_dagster.materialize(COMPARISONS, by_dagster.judge_key)
    recorded = {name: made for (name, _), made in materialized_partitions(result).items()}
    assert all(cell in value_of(recorded["matrix_rollup"], "result") for cell in CELLS)
    assert value_of(recorded["model_comparison"], "compared") == "- small-plain\n- large-plain"
    for made in recorded.values():
        assert value_of(made, "judge").startswith("rubric: kind rubric")
        assert "cell" not in made.metadata
    assert checks_of(result) == [("matrix_rollup", True, by_dagster.judge_key), ("model_comparison", True, by_dagster.judge_key)]


def test_a_refused_pair_is_a_failed_check_with_its_sentence_and_no_failed_step(matrix: MatrixInstance) -> None:
    """One side was answered again after a question was edited: the pair no longer was asked the same."""
    answer_anew(matrix, "small-full")
    result = matrix.materialize(["plugin_deltas"], matrix.delta_key("small-full"))
    assert result.success
    assert not [event for event in result.all_node_events if event.is_step_failure]
    (check,) = result.get_asset_check_evaluations()
    assert (check.check_name, check.passed, check.severity, check.blocking) == ("comparable", False, dg.AssetCheckSeverity.ERROR, False)
    assert check.partition == matrix.delta_key("small-full")
    assert check.description is not None
    assert "text of the questions" in check.description
    assert "Traceback" not in check.description
    assert check.description.endswith(
        "small-plain answered an earlier question set: materialize its arm_answers, then its judged_scores and arm_summary."
    )
    (made,) = materialized_partitions(result).values()
    assert "text of the questions" in value_of(made, "refused")
    assert "small-plain answered an earlier question set" in value_of(made, "to_do")
    assert "result" not in made.metadata
    partition = str(matrix.delta_key("small-full")).replace("|", "/")
    assert json.loads(matrix.stored("plugin_deltas", partition, "refused.json"))["runs"] == ["small-plain", "small-full"]
    rolled_up = matrix.materialize(["matrix_rollup"], matrix.judge_key)
    assert checks_of(rolled_up) == [("matrix_rollup", False, matrix.judge_key)]


def test_a_check_can_be_made_again_without_its_asset(matrix: MatrixInstance) -> None:
    answer_anew(matrix, "small-full")
    matrix.materialize(["plugin_deltas"], matrix.delta_key("small-full"))
    definitions = matrix.definitions
    result = dg.materialize(
        list(definitions.assets or []),
        selection=dg.AssetSelection.checks(dg.AssetCheckKey(key_of("plugin_deltas"), "comparable")),
        resources=definitions.resources,
        instance=matrix.instance,
        run_config=QUIET,
        tags={"dagster/partition": matrix.delta_key("small-full")},
    )
    assert materialized_partitions(result) == {}
    assert [(check.passed, check.partition) for check in result.get_asset_check_evaluations()] == [(False, matrix.delta_key("small-full"))]


def test_an_edited_plugin_cell_leaves_its_delta_and_the_rollup_to_be_made_and_a_backfill_makes_them(
    matrix: MatrixInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix.edit({"cells.small-cut.plugins": ["truncate:40"]})
    assert {place for place in not_fresh(matrix) if place[0] in ("plugin_deltas", *COMPARISONS)} == {
        ("plugin_deltas", "small-cut", "missing"),
        ("matrix_rollup", None, "stale"),
    }
    assert exit_code(["backfill", "--project", str(matrix.folder)]) == 0
    assert not_fresh(matrix) == set()
    assert matrix.instance.get_dynamic_partitions("kettle.plugin_cells").count(matrix.project.cell("small-cut").key) == 1
    capsys.readouterr()
    assert exit_code(["backfill", "--project", str(matrix.folder)]) == 0
    assert "nothing to make" in capsys.readouterr().out


def test_a_backfill_says_what_was_refused(matrix: MatrixInstance, capsys: pytest.CaptureFixture[str]) -> None:
    """The same configuration under a second name is no rival of itself; its answers come from the ledger."""
    matrix.edit({"cells.twin": {"model": "small", "endpoint": "stub"}, "suites.kettle.cells": [*CELLS, "twin"]})
    capsys.readouterr()
    assert exit_code(["backfill", "--project", str(matrix.folder)]) == 0
    (told,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: kettle rubric-")]
    assert "model_comparison was refused: " in told
    assert "samples of one thing, not rivals. Keep one of them in suites.kettle.cells." in told
    assert not_fresh(matrix) == set()
    for flags in ((), ("--judge", "rubric")):  # nothing is to be made, and the refusal stands
        assert exit_code(["backfill", "--project", str(matrix.folder), *flags]) == 0
        said = capsys.readouterr()
        assert "nothing to make" in said.out
        assert said.err.splitlines() == [told]
    assert exit_code(["backfill", "--project", str(matrix.folder), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["findings"]["failed_checks"]
    assert (found["check"], found["asset"]) == ("comparable", "model_comparison")


def test_dagster_shows_what_a_newer_summary_makes_stale(matrix: MatrixInstance) -> None:
    answer_anew(matrix, "small-full")
    stale = stale_in_dagster(matrix)
    assert ("plugin_deltas", str(matrix.delta_key("small-full"))) in stale
    assert ("matrix_rollup", matrix.judge_key) in stale
    assert ("plugin_deltas", str(matrix.delta_key("large-full"))) not in stale


def test_lost_events_come_back_from_the_store(matrix: MatrixInstance, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("plugin_deltas", *COMPARISONS)
    before = {name: matrix.instance.get_materialized_partitions(key_of(name)) for name in names}
    matrix.instance.wipe_assets([key_of(name) for name in names])
    assert exit_code(["sync", "--project", str(matrix.folder)]) == 0
    assert "8 partitions that it did not know as materialized" in capsys.readouterr().out
    assert {name: matrix.instance.get_materialized_partitions(key_of(name)) for name in names} == before
    assert stale_in_dagster(matrix) == set()
    answer_anew(matrix, "small-full")
    assert ("matrix_rollup", matrix.judge_key) in stale_in_dagster(matrix)


def test_a_refusal_comes_back_with_its_lost_event(matrix: MatrixInstance, capsys: pytest.CaptureFixture[str]) -> None:
    answer_anew(matrix, "small-full")
    key = matrix.delta_key("small-full")
    matrix.materialize(["plugin_deltas"], key)
    matrix.instance.wipe_assets([key_of("plugin_deltas")])
    sync = ["sync", "--project", str(matrix.folder)]
    for asked in ([*sync, "--dry-run"], sync):
        assert exit_code(asked) == 0
        said = f"6 check results that it did not know, failed: comparable of plugin_deltas/{str(key).replace('|', '/')}"
        assert said in capsys.readouterr().out
    check = dg.AssetCheckKey(key_of("plugin_deltas"), "comparable")
    (record,) = matrix.instance.event_log_storage.get_asset_check_execution_history(check, 1, status={FAILED})
    assert (record.partition, record.evaluation is not None and "text of the questions" in str(record.evaluation.description)) == (
        key,
        True,
    )
    assert exit_code(sync) == 0
    assert "check result" not in capsys.readouterr().out


def test_a_cell_that_the_judge_has_not_scored_is_named_in_the_rollup(matrix: MatrixInstance) -> None:
    matrix.edit({"cells.extra": {"model": "extra", "endpoint": "stub"}, "suites.kettle.cells": [*CELLS, "extra"]})
    matrix.register()
    recorded = materialized_partitions(matrix.materialize(COMPARISONS, matrix.judge_key))
    for name in COMPARISONS:
        made = recorded[name, matrix.judge_key]
        assert value_of(made, "missing") == "- extra"
        assert "extra" in value_of(made, "warnings")


def test_a_cell_that_alone_has_scores_is_compared_with_nothing(matrix: MatrixInstance) -> None:
    extra = {"cells.extra": {"model": "extra", "endpoint": "stub"}, "suites.kettle.cells": ["small-plain", "extra"]}
    matrix.edit(extra)
    matrix.register()
    for check in matrix.materialize(COMPARISONS, matrix.judge_key).get_asset_check_evaluations():
        assert not check.passed
        assert check.description == "Of these cells only small-plain has scores by rubric: there is nothing to compare it with yet."


@pytest.mark.parametrize(
    ("changes", "cell", "sentence"),
    [
        (
            {"suites.kettle.cells": [cell for cell in CELLS if cell != "small-plain"]},
            "small-full",
            "the suite 'kettle' has no plugin-free pair of 'small-full'",
        ),
        ({"cells.small-full.plugins": ["caveman:lite"]}, "small-full", "has no arm_answers of partition 'small-full-"),
    ],
)
def test_what_cannot_be_read_fails_the_run_with_a_sentence(
    matrix: MatrixInstance, changes: dict[str, Any], cell: str, sentence: str
) -> None:
    matrix.edit(changes)
    if "suites.kettle.cells" not in changes:  # a run that was asked for before the partitions were brought in line
        matrix.register()
    result = matrix.materialize(["plugin_deltas"], matrix.delta_key(cell), raise_on_error=False)
    assert not result.success
    assert sentence in failure_of(result)


def test_partitions_follow_the_pairs_of_the_project_file(matrix: MatrixInstance) -> None:
    matrix.edit({"suites.kettle.cells": [cell for cell in CELLS if cell != "small-plain"]})
    changes = {change.group: change for change in matrix.register()}
    assert set(changes["plugin_cell"].retired) == {matrix.project.cell(cell).key for cell in PLUGIN_CELLS if cell.startswith("small")}
    assert set(matrix.instance.get_dynamic_partitions("kettle.plugin_cells")) == {
        matrix.project.cell(cell).key for cell in PLUGIN_CELLS if cell.startswith("large")
    }


def test_several_deltas_in_one_run_are_recorded_one_by_one_and_one_that_fails_leaves_the_others_be(matrix: MatrixInstance) -> None:
    matrix.edit({"suites.kettle.cells": [cell for cell in CELLS if cell != "large-plain"]})
    result = matrix.materialize_batch(["plugin_deltas"], [matrix.delta_key(cell) for cell in PLUGIN_CELLS], raise_on_error=False)
    assert not result.success
    recorded = materialized_partitions(result)
    assert {partition for _, partition in recorded} == {matrix.delta_key(cell) for cell in PLUGIN_CELLS if cell.startswith("small")}
    for made in recorded.values():
        assert (made.tags or {})["dagster/input_data_version/suites/kettle/arm_summary"]
    assert "3 of 6 partitions failed; 3 finished and stay materialized." in failure_of(result)


def answer_anew(matrix: MatrixInstance, cell: str) -> None:
    """Edit a question, and take one cell alone through to its summary."""
    edit_question(matrix)
    matrix.materialize(SOURCES)
    matrix.materialize(["arm_answers"], matrix.project.cell(cell).key)
    matrix.materialize(SCORED, matrix.delta_key(cell))


def edit_question(matrix: MatrixInstance, *, back: bool = False) -> None:
    file = matrix.folder / "questions.json"
    old, new = QUESTION, QUESTION.replace("part 0", "the first part")
    text = file.read_text()
    assert text.count(new if back else old) == 1
    file.write_text(text.replace(new, old) if back else text.replace(old, new))


def not_fresh(matrix: MatrixInstance) -> set[tuple[str, str | None, str]]:
    """What is not fresh by our own account: asset, cell, state."""
    with matrix.opened() as opened:
        states = asyncio.run(suite_states(opened.suite_context(SUITE)))
    return {(state.asset, state.cell, state.state) for state in states if not state.is_fresh}


def stale_in_dagster(matrix: MatrixInstance) -> set[tuple[str, str]]:
    """The comparisons that Dagster calls stale or missing."""
    graph = matrix.definitions.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(matrix.instance, graph, loading_context=LoadingContextForTest(matrix.instance))
    partitions = [
        *(("plugin_deltas", str(matrix.delta_key(cell))) for cell in PLUGIN_CELLS),
        *((name, matrix.judge_key) for name in COMPARISONS),
    ]
    return {place for place in partitions if resolver.get_status(key_of(place[0]), place[1]) != StaleStatus.FRESH}


def checks_of(result: dg.ExecuteInProcessResult) -> list[tuple[str, bool, str | None]]:
    return [(check.asset_key.path[-1], check.passed, check.partition) for check in result.get_asset_check_evaluations()]


def numbers(artifact: Any) -> Any:
    """An artifact without what says when and where it was made, and how long calls took."""
    left_out = ("generated_at", "artifact", "mean_latency_sec", "mean_ttft_sec", "latency_sec", "ttft_sec")
    if isinstance(artifact, dict):
        return {name: numbers(value) for name, value in artifact.items() if name not in left_out}
    return [numbers(item) for item in artifact] if isinstance(artifact, list) else artifact
