"""What a comparison of stored cells says of itself where it was made and is no answer."""

from pathlib import Path

from evalplatform.project.load import load_project
from evalplatform.stages.facts import comparison_facts_of
from evalplatform.stages.matrix_rollup import materialize_matrix_rollup
from evalplatform.stages.pipeline import run_cell
from evalplatform.stages.plugin_deltas import materialize_plugin_deltas
from evalplatform.stages.report_findings import found_in_comparisons
from evalplatform.wiring import OpenedProject
from tests.support.matrix_project import CELLS, SUITE, write_matrix_project
from tests.support.model_stub import running_stub
from tests.support.starter import edited

NO_SCORES = "stub;do=reply;text=no+scores+here"
NOTHING = "baseline and skill:use-kettle were scored in both runs for 0 of 8 questions (0.0%, 95.0% needed): nothing can be said of points."


def test_a_comparison_without_scores_is_no_answer_and_says_so(tmp_path: Path) -> None:
    with running_stub() as stub:
        file = write_matrix_project(tmp_path / "project", stub.url) / "evalplatform.yaml"
        edited(file, ("model: grader", f'model: "{NO_SCORES}"'), (f"cells: [{', '.join(CELLS)}]", "cells: [small-plain, small-cut]"))
        with OpenedProject(load_project(file, environ={})) as opened:
            context = opened.suite_context(SUITE)
            cells, (judge,) = context.project.cells_of(SUITE), context.project.judges_of(SUITE)
            for cell in cells:
                run_cell(context, cell, judge)
            delta = materialize_plugin_deltas(context, cells[1], judge).manifest
            rollup = materialize_matrix_rollup(context, judge).manifest
            said = found_in_comparisons(context, [delta, rollup]).failed_checks
    assert [comparison_facts_of(made).shortfalls for made in (delta, rollup)] == [(NOTHING,), (f"small-cut: {NOTHING}",)]
    assert not comparison_facts_of(delta).refusals
    assert [check.sentence for check in said] == [
        f"plugin_deltas is no answer: {NOTHING}",
        f"matrix_rollup is no answer: small-cut: {NOTHING}",
    ]
