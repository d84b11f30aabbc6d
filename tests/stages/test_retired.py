"""What the project file no longer asks for: by its cell, by its judge, and where cells are compared by what there is to compare."""

from pathlib import Path

import pytest

from evalplatform.artifacts.records import ArtifactId
from evalplatform.project.load import Project, load_project
from evalplatform.stages.retired import asked_for, is_retired
from tests.support.matrix_project import CELLS, JUDGE, SUITE, write_matrix_project
from tests.support.starter import edited

NO_SERVICE = "http://127.0.0.1:9/v1"
LISTED = f"    cells: [{', '.join(CELLS)}]\n"


def project_of(folder: Path, *, without: tuple[str, ...] = ()) -> Project:
    """The matrix project, with some cells taken out of its suite."""
    file = write_matrix_project(folder, NO_SERVICE) / "evalplatform.yaml"
    if without:
        edited(file, (LISTED, f"    cells: [{', '.join(cell for cell in CELLS if cell not in without)}]\n"))
    return load_project(file, environ={})


def partition_of(project: Project, cell: str) -> str:
    return f"{project.cell(cell).key}/{project.judge(JUDGE).key}"


@pytest.mark.parametrize(
    ("without", "asset", "cell", "retired"),
    [
        ((), "plugin_deltas", "small-full", False),
        (("small-plain",), "plugin_deltas", "small-full", True),  # the cell is there, and its pair is not
        (("small-plain",), "plugin_deltas", "large-full", False),
        (("small-plain",), "arm_summary", "small-full", False),
        (("small-full",), "plugin_deltas", "small-full", True),
        (("small-plain",), "model_comparison", None, True),  # one cell without plugins is left
        (("small-plain",), "matrix_rollup", None, False),
        (CELLS[1:], "matrix_rollup", None, True),
    ],
)
def test_a_comparison_is_retired_once_its_suite_has_nothing_for_it(
    tmp_path: Path, without: tuple[str, ...], asset: str, cell: str | None, retired: bool
) -> None:
    project = project_of(tmp_path / "project", without=without)
    partition = project.judge(JUDGE).key if cell is None else partition_of(project, cell)
    assert is_retired(ArtifactId(suite=SUITE, asset=asset, partition=partition), asked_for(project)) is retired


def test_a_comparison_of_a_judge_that_is_gone_is_retired_and_one_of_a_suite_made_from_flags_is_not(tmp_path: Path) -> None:
    project = project_of(tmp_path / "project")
    asked = asked_for(project)
    assert is_retired(ArtifactId(suite=SUITE, asset="matrix_rollup", partition="strict-000000"), asked)
    assert not is_retired(ArtifactId(suite="from-flags", asset="matrix_rollup", partition="strict-000000"), asked)
