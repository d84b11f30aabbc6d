"""What Dagster is told about a project, as one text: assets, partitions, jobs, sensors. A change here is a change of the product."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.tables import TABLES
from evalplatform.definitions import build_definitions
from evalplatform.kernel.errors import ProjectFileError
from evalplatform.project.load import load_project
from tests.support.graph_lines import graph_lines
from tests.support.matrix_project import write_matrix_project
from tests.support.snapshots import assert_snapshot
from tests.support.starter_project import StarterProject

SNAPSHOT = Path(__file__).parent / "snapshots" / "starter_graph.txt"
MATRIX_SNAPSHOT = SNAPSHOT.with_name("matrix_comparisons.txt")
COMPARISONS = ("plugin_deltas", "matrix_rollup", "model_comparison")


def test_the_graph_of_the_starter_project(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    assert_snapshot(SNAPSHOT, "\n".join(graph_lines(starter.definitions)) + "\n")


def test_the_comparisons_of_a_matrix(tmp_path: Path) -> None:
    definitions = build_definitions(load_project(write_matrix_project(tmp_path / "project", "http://127.0.0.1:1/v1") / "evalplatform.yaml"))
    assert_snapshot(MATRIX_SNAPSHOT, "\n".join(_comparison_lines(list(graph_lines(definitions)))) + "\n")


@pytest.mark.parametrize(
    ("plugins", "comparisons"),
    [
        ({"brief": [], "long": []}, {"matrix_rollup", "model_comparison"}),
        ({"brief": ["truncate:20"]}, {"matrix_rollup"}),
        ({}, set()),
    ],
)
def test_a_suite_has_only_the_comparisons_that_its_cells_have_something_for(
    plugins: dict[str, list[str]], comparisons: set[str], tmp_path: Path
) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    for number, (cell, of_cell) in enumerate(plugins.items()):
        sampling = {"max_tokens": 40 + number}
        starter.edit({f"cells.{cell}": {"model": "extractive", "endpoint": "here", "plugins": of_cell, "sampling": sampling}})
    starter.edit({"suites.kettle.cells": ["reader", *plugins]})
    assets = {key.path[-1] for key in starter.definitions.resolve_asset_graph().get_all_asset_keys()}
    assert assets & set(COMPARISONS) == comparisons
    jobs = {job.name for job in starter.definitions.resolve_all_job_defs()}
    assert ("kettle__comparisons" in jobs) is bool(comparisons)
    assert "kettle__plugin_deltas" not in jobs


def test_every_suite_has_assets_and_jobs_of_its_own(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    suite = starter.project.settings.suites["kettle"].model_dump(mode="json", exclude_unset=True)
    starter.edit({"suites": {"kettle": suite, "second-suite": suite}})
    graph = starter.definitions.resolve_asset_graph()
    assert {key.path[1] for key in graph.get_all_asset_keys()} == {"kettle", "second-suite"}
    names = {job.name for job in starter.definitions.resolve_all_job_defs()}
    assert {"kettle__judge_cells", "second_suite__judge_cells"} <= names


def test_two_suites_that_dagster_could_not_tell_apart_are_refused_by_name(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    suite = starter.project.settings.suites["kettle"].model_dump(mode="json", exclude_unset=True)
    starter.edit({"suites": {"ket-tle": suite, "ket.tle": suite}})
    with pytest.raises(ProjectFileError, match=r"suites 'ket-tle' and 'ket\.tle' would share the group 'ket_tle'"):
        build_definitions(starter.project)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_described_and_previewed_column_exists(name: str) -> None:
    columns = {column.name for column in TABLES[name].schema().columns}
    assert set(TABLES[name].descriptions) | set(TABLES[name].preview_columns) <= columns


def _comparison_lines(lines: list[str]) -> Iterator[str]:
    """The lines of what compares cells, and of the jobs over it."""
    shown = False
    for line in lines:
        if not line.startswith("  "):
            shown = line.rpartition("/")[2] in COMPARISONS or line.startswith(("job kettle__plugin_deltas", "job kettle__comparisons"))
        if shown:
            yield line
