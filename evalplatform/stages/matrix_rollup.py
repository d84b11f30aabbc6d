"""Stage `matrix_rollup` [judge]: all cells of the suite beside each other, with the delta of every plugin cell to its plugin-free pair."""

from collections.abc import Mapping, Sequence
from functools import partial

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.matrix_rollup import roll_up
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.reports.matrix_report import matrix_page
from evalplatform.reports.matrix_rollup_v1 import matrix_rollup_bytes
from evalplatform.stages.compared_runs import current_versions
from evalplatform.stages.comparison_runs import delta_shortfalls, refusal_sentences
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.run_flaws import run_flaws
from evalplatform.stages.suite_comparison import Compared, SuiteComparison

ASSET = "matrix_rollup"
CODE_VERSION = "2"
FILE_STEM = "matrix-rollup"
MAIN_SECTIONS = ("cells", "plugin-deltas")


def compared_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that the rollup is of: all of them, where there are several; a single cell has its own report."""
    return list(cells) if len(cells) > 1 else []


def materialize_matrix_rollup(context: SuiteContext, judge: JudgeCell) -> StageResult:
    """Roll up the suite's cells under one judge. Raises as `SuiteComparison.materialize` does."""
    cells = compared_cells(context.project.cells_of(context.suite_id))
    return SuiteComparison(ASSET, CODE_VERSION, FILE_STEM, partial(_rolled_up, judge=judge)).materialize(context, cells, judge)


def _rolled_up(context: SuiteContext, runs: Sequence[ComparedRun], missing: Mapping[str, str], *, judge: JudgeCell) -> Compared:
    cells = {cell.id: cell for cell in context.project.cells_of(context.suite_id)}
    flaws = {run.name: run_flaws(context, current_versions(context, cells[run.name], judge)) for run in runs}
    rollup = roll_up(runs, correction=context.suite.correction, missing=missing, flaws=flaws)
    return Compared(
        data=matrix_rollup_bytes(rollup, generated_at=context.clock.now()),
        page=matrix_page(rollup),
        refusals=refusal_sentences(context, rollup.refused),
        shortfalls=tuple(f"{delta.plugin_name}: {sentence}" for delta in rollup.deltas for sentence in delta_shortfalls(delta)),
        main_sections=MAIN_SECTIONS,
    )
