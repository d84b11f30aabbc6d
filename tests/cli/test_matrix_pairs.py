"""Which cells `arms matrix-run` compares, and what the console says of the pairs; the Dagster assets have the same ones."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalplatform.project.cells import plugin_free_pair
from evalplatform.project.load import load_project
from evalplatform.reports.matrix_rollup_v1 import read_matrix_rollup
from tests.cli.conftest import Command
from tests.support.matrix_project import CELLS, SUITE, write_matrix_project
from tests.support.model_stub import running_stub
from tests.support.starter import edited

CONTROLS = "small-plain: {model: small, endpoint: stub, plugins: []}"
PLUGGED = 'small-full: {model: small, endpoint: stub, plugins: ["caveman:full"]}'
OTHER = "{top_p: 0.1, extra: {reasoning_effort: low}}"
SAME = "{top_p: 0.9, extra: {reasoning_effort: high}}"


@pytest.fixture
def matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with running_stub() as stub:
        folder = write_matrix_project(tmp_path / "matrix", stub.url, questions=2)
        monkeypatch.chdir(folder)
        yield folder


def with_cells(folder: Path, *, other: str, same: str, plugged: str) -> None:
    edited(
        folder / "evalplatform.yaml",
        (
            CONTROLS,
            f"other: {{model: small, endpoint: stub, sampling: {other}}}\n  same: {{model: small, endpoint: stub, sampling: {same}}}",
        ),
        (PLUGGED, PLUGGED[:-1] + f", sampling: {plugged}}}"),
        (f"cells: [{', '.join(CELLS)}]", "cells: [other, same, small-full]"),
    )


def pairs(folder: Path) -> list[tuple[str | None, str | None]]:
    deltas = read_matrix_rollup(folder / "results/arms/kettle-matrix/matrix-rollup.json").plugin_deltas
    return [(delta.baseline_cell, delta.plugin_cell) for delta in deltas]


def pair_in_dagster(folder: Path) -> str | None:
    cells = load_project(folder / "evalplatform.yaml", environ={}).cells_of(SUITE)
    pair = plugin_free_pair(next(cell for cell in cells if cell.plugins), cells)
    return None if pair is None else pair.id


@pytest.mark.parametrize(
    ("other", "same"), [(OTHER, SAME), ("{seed: 1}", "{seed: 2}")], ids=["sampling beyond the format's keys", "the nearer seed"]
)
def test_a_plugin_cell_has_one_control_wherever_it_is_compared(command: Command, matrix: Path, other: str, same: str) -> None:
    with_cells(matrix, other=other, same=same, plugged=same)
    ran = command("arms", "matrix-run", "--suite", SUITE, "--judge")
    assert ran.code == 0, ran.err
    assert pairs(matrix) == [(pair_in_dagster(matrix), "small-full")] == [("same", "small-full")]
    assert "again" not in ran.err, "two cells of other sampling are no repetition"


def test_files_of_cells_that_differ_in_any_sampling_are_refused(command: Command, matrix: Path) -> None:
    with_cells(matrix, other=OTHER, same=OTHER, plugged=SAME)
    assert command("arms", "matrix-run", "--suite", SUITE, "--judge").code == 0
    assert pairs(matrix) == []
    assert pair_in_dagster(matrix) is None
    cells = matrix / "results/arms/kettle-matrix/cells"
    ran = command("arms", "plugin-delta", "--baseline-json", cells / "other.json", "--plugin-json", cells / "small-full.json", "--json")
    assert ran.code == 2
    (refusal,) = json.loads(ran.out)["refusals"]
    assert refusal["factor"] == "run_config"
    assert "top_p 0.1, extra (reasoning_effort low); " in refusal["sentence"]


def test_other_seeds_are_told_on_the_console_by_both_commands(command: Command, matrix: Path) -> None:
    with_cells(matrix, other="{seed: 1}", same="{seed: 2}", plugged="{seed: 3}")
    ran = command("arms", "matrix-run", "--suite", SUITE, "--judge")
    assert ran.code == 0
    told = "(other: 1, small-full: 3): a part of every delta is the luck of the draw."
    assert f"warning: small-full against other: The runs have different seeds {told}" in ran.err
    cells = matrix / "results/arms/kettle-matrix/cells"
    ran = command("arms", "plugin-delta", "--baseline-json", cells / "other.json", "--plugin-json", cells / "small-full.json")
    assert ran.code == 0
    assert f"warning: The runs have different seeds {told}" in ran.err
    assert "everything else but the seed equal" in ran.out
