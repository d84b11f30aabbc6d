"""A matrix of the tool that the formats come from is read file by file, and its numbers come out again; it reads what we write of them."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.cli.main import exit_code
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.matrix_rollup import MatrixRollup, roll_up
from evalplatform.plugins.plugin_set import EMPTY_PLUGIN_SET_ID
from evalplatform.reports.arms_v1_file import read_arms_v1, recomputed_cost_summary, recomputed_summary
from evalplatform.reports.compared_run_file import read_compared_run
from evalplatform.reports.matrix_rollup_v1 import (
    DeltaBlock,
    MatrixRollupFile,
    matrix_rollup_bytes,
    matrix_rollup_payload,
    read_matrix_rollup,
)
from evalplatform.reports.plugin_delta_v1 import PluginDeltaFile, plugin_delta_bytes, read_plugin_delta
from tests.interop.reference_tool import reference_python, run_reference
from tests.support.matrix_project import CELLS as OUR_CELLS
from tests.support.matrix_project import SUITE, write_matrix_project
from tests.support.model_stub import running_stub

pytestmark = [pytest.mark.system, pytest.mark.timeout(1200)]  # the first run installs the tool

CELLS = {
    "small-none": ("gpt-4o-mini", []),
    "small-caveman": ("gpt-4o-mini", ["caveman:full"]),
    "small-truncate": ("gpt-4o-mini", ["truncate:80"]),
    "large-truncate": ("gpt-4.1", ["truncate:80"]),
}
"""Two plugin cells with their pair, and one without."""
QUESTIONS = 8
ARMS = ("baseline", "skill:demo")
THEIR_ROLLUP_OF_OURS = """
import json, pathlib, sys
from dokimi.artifacts import load_artifact
from dokimi.eval.matrix_rollup import build_matrix_rollup, strip_internal_payloads
from dokimi.report.matrix_rollup_report import render_matrix_rollup_report
from dokimi.report.plugin_delta_report import render_plugin_delta_report
folder = pathlib.Path(sys.argv[1])
stated = load_artifact("matrix_rollup", folder / "matrix-rollup.json")
render_matrix_rollup_report(stated)
for block in stated["plugin_deltas"]:
    render_plugin_delta_report(load_artifact("plugin_delta", folder / block["artifact"]))
cells = [(block["matrix_cell"], folder / block["artifact"], load_artifact("arms", folder / block["artifact"])) for block in stated["cells"]]
rollup = build_matrix_rollup(library_name=stated["library_name"], cell_artifacts=cells, out_dir=folder)
print(json.dumps(strip_internal_payloads(rollup)))
"""
LOAD = "import sys, pathlib; from dokimi.artifacts import load_artifact; load_artifact(sys.argv[1], pathlib.Path(sys.argv[2]))"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a matrix that the reference tool ran, judged."""
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "skill").mkdir()
    (folder / "skill" / "SKILL.md").write_text("---\nname: demo\ndescription: Expiry rules.\n---\nRules run once a day.\n")
    questions = [{"id": number, "question": f"How do I expire objects after {number} days?"} for number in range(QUESTIONS)]
    (folder / "questions.json").write_text(json.dumps({"schema_version": "questions.v2", "questions": questions}))
    cells = [
        {"id": name, "model": model, "provider": "openai", "harness": "arms-runner", "plugins": plugins}
        for name, (model, plugins) in CELLS.items()
    ]
    (folder / "cells.json").write_text(json.dumps({"matrix": {"cells": cells}}))
    with running_stub() as stub:
        outcome = run_reference(
            "arms", "matrix-run", "--product", "Storage", "--questions", "questions.json", "--arms", "baseline,skill:./skill",
            "--matrix-cells", "cells.json", "--judge", "--judge-model", "gpt-4o", "--judge-provider", "openai", "--out-dir", "out",
            environment={"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": stub.url, "OPENAI_API_BASE": stub.url},
            cwd=folder,
        )  # fmt: skip
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def runs(theirs: Path) -> dict[str, ComparedRun]:
    return {name: read_compared_run(theirs / "cells" / f"{name}.json") for name in CELLS}


@pytest.fixture(scope="module")
def rollup(runs: dict[str, ComparedRun]) -> MatrixRollup:
    return roll_up(list(runs.values()))


def test_every_cell_is_read_with_its_plugins_and_what_they_did(runs: dict[str, ComparedRun]) -> None:
    assert [run.identity.plugin_set for run in runs.values()] == ["none", "caveman:full", "truncate:80", "truncate:80"]
    ids = [run.identity.plugin_set_id for run in runs.values()]
    assert ids[0] == EMPTY_PLUGIN_SET_ID
    assert ids[2] == ids[3]
    assert len(set(ids)) == 3
    for run in runs.values():
        assert (run.identity.arms, run.identity.total_questions, len(run.identity.question_ids)) == (ARMS, QUESTIONS, QUESTIONS)
        assert all((arm.answers, arm.failed, len(arm.points)) == (QUESTIONS, 0, QUESTIONS) for arm in run.arms.values())
    baselines = {name: run.arms["baseline"] for name, run in runs.items()}
    assert [baseline.with_system_prompt for baseline in baselines.values()] == [0, QUESTIONS, 0, 0], "caveman writes one into every arm"
    assert set(baselines["small-truncate"].final_answer_chars.values()) == {80.0}
    assert min(baselines["small-truncate"].raw_answer_chars.values()) > 80


@pytest.mark.parametrize("cell", CELLS)
def test_the_numbers_of_a_cell_come_out_again(cell: str, theirs: Path) -> None:
    file = read_arms_v1(theirs / "cells" / f"{cell}.json")
    assert file.warnings == ()
    assert recomputed_summary(file) == file.summary
    assert recomputed_cost_summary(file) == file.cost_summary


def test_its_plugin_deltas_are_read_and_those_of_its_cells_are_the_same(theirs: Path, rollup: MatrixRollup, tmp_path: Path) -> None:
    stated = read_matrix_rollup(theirs / "matrix-rollup.json")
    assert [block.plugin_cell for block in stated.plugin_deltas] == [delta.plugin_name for delta in rollup.deltas]
    for block, delta in zip(stated.plugin_deltas, rollup.deltas, strict=True):
        their_file = read_plugin_delta(theirs / Path(block.artifact).name)
        (tmp_path / "ours.json").write_bytes(plugin_delta_bytes(delta))
        assert comparable(read_plugin_delta(tmp_path / "ours.json")) == comparable(their_file)
        assert their_file.score_deltas == block.score_deltas


def comparable(file: PluginDeltaFile) -> object:
    """Return what both tools say of a delta: not what only we write, nor the words of warnings."""
    return (
        file.model_dump(
            include={
                "library_name", "model", "provider", "harness", "judge_model", "judge_provider", "arms", "total_questions", "cost_deltas",
                "baseline_plugin_set", "baseline_plugin_set_id", "plugin_set", "plugin_set_id",
            }
        ),
        {arm: block.model_dump(exclude={"significance"}) for arm, block in file.score_deltas.items()},
        {
            arm: {name: (length.baseline_avg, length.plugin_avg, length.delta) for name, length in block}
            for arm, block in file.answer_text_deltas.items()
        },
        len(file.warnings),
    )  # fmt: skip


def test_its_rollup_is_read_and_that_of_its_cells_is_the_same(theirs: Path, rollup: MatrixRollup, tmp_path: Path) -> None:
    (tmp_path / "ours.json").write_bytes(matrix_rollup_bytes(rollup, generated_at=datetime(2026, 1, 1, tzinfo=UTC)))
    stated, ours = read_matrix_rollup(theirs / "matrix-rollup.json"), read_matrix_rollup(tmp_path / "ours.json")
    assert (ours.library_name, ours.total_cells) == (stated.library_name, stated.total_cells) == ("Storage", len(CELLS))
    named = {"matrix_cell", "model", "provider", "harness", "plugin_set", "plugin_set_id", "summary"}
    assert [cell.model_dump(include=named) for cell in ours.cells] == [cell.model_dump(include=named) for cell in stated.cells]
    assert files_of(ours) == files_of(stated)
    assert (len(ours.warnings), len(stated.warnings)) == (1, 1)
    assert all("large-truncate" in warnings[0] for warnings in (ours.warnings, stated.warnings)), "the cell without a pair"


def files_of(rollup: MatrixRollupFile) -> list[str]:
    """Return the names of the files that a rollup names; their folder is written from where the tool ran, ours from the rollup."""
    return [Path(block.artifact).name for block in (*rollup.cells, *rollup.plugin_deltas)]


def test_the_reference_tool_loads_the_deltas_and_the_rollup_that_we_write(rollup: MatrixRollup, tmp_path: Path) -> None:
    written = matrix_rollup_payload(rollup, generated_at=datetime(2026, 1, 1, tzinfo=UTC))
    (tmp_path / "rollup.json").write_text(json.dumps(written))
    (tmp_path / "delta.json").write_bytes(plugin_delta_bytes(rollup.deltas[0]))
    (tmp_path / "broken.json").write_text(json.dumps({**written, "cells": [{"matrix_cell": "small-none"}]}))
    files = (("plugin_delta", "delta.json"), ("matrix_rollup", "rollup.json"), ("matrix_rollup", "broken.json"))
    outcomes = [
        subprocess.run([reference_python(), "-c", LOAD, kind, file], capture_output=True, text=True, check=False, cwd=tmp_path)
        for kind, file in files
    ]
    assert [outcome.returncode for outcome in outcomes] == [0, 0, 1], [outcome.stderr for outcome in outcomes]
    assert "artifact" in outcomes[2].stderr, "the check is one that can fail"


def test_its_cells_are_checked_as_a_batch(theirs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["batch", "check", str(theirs / "cells"), "--treatment-arm", "skill:*", "--judge-model", "gpt-4o"]
    sizes = f"none={QUESTIONS},caveman={QUESTIONS},truncate={QUESTIONS}"
    code = exit_code([*arguments, "--judge-provider", "openai", "--expect-n", sizes, "--expect-files", "4", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (code, result["findings"]) == (1, 1), "a matrix is no batch: its cells differ in their plugins"
    assert all(file["passed"] and not file["delta"]["stated_differs"] for file in result["files"])
    (failed,) = (check for check in result["checks"] if check["passed"] is False)
    assert "plugin set" in failed["sentence"]


def test_the_reference_tool_rolls_our_own_matrix_up_to_our_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_stub() as stub:
        monkeypatch.chdir(write_matrix_project(tmp_path / "ours", stub.url))
        assert exit_code(["arms", "matrix-run", "--suite", SUITE, "--judge", "--out-dir", "out"]) == 0
    outcome = subprocess.run(
        [reference_python(), "-c", THEIR_ROLLUP_OF_OURS, "out"], capture_output=True, text=True, check=False, cwd=tmp_path / "ours"
    )
    assert outcome.returncode == 0, outcome.stderr
    (tmp_path / "theirs.json").write_text(outcome.stdout.splitlines()[-1])
    ours, theirs = read_matrix_rollup(tmp_path / "ours" / "out" / "matrix-rollup.json"), read_matrix_rollup(tmp_path / "theirs.json")
    assert [cell.matrix_cell for cell in ours.cells] == list(OUR_CELLS)
    assert [cell.summary for cell in ours.cells] == [cell.summary for cell in theirs.cells]
    assert files_of(ours) == files_of(theirs)
    assert (ours.warnings, theirs.warnings) == ((), ())
    assert len(ours.plugin_deltas) == 6
    assert [numbers_of(block) for block in ours.plugin_deltas] == [numbers_of(block) for block in theirs.plugin_deltas]


def numbers_of(block: DeltaBlock) -> object:
    """Return a delta's numbers as both tools have them, without what only we write."""
    stated = block.model_dump(exclude={"artifact"})
    for score in stated["score_deltas"].values():
        del score["significance"]
    for texts in stated["answer_text_deltas"].values():
        for length in texts.values():
            del length["n"], length["paired_delta"]
    return stated
