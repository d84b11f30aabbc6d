"""Stage `model_comparison` [judge]: the suite's plugin-free cells beside each other, once for each treatment arm."""

from collections.abc import Mapping, Sequence

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.model_comparison import compare_models
from evalplatform.comparisons.model_comparison_records import ModelComparison
from evalplatform.comparisons.refusals import Refused
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.reports.model_comparison_report import model_comparison_json, model_comparison_page, shortfall_sentences
from evalplatform.reports.view import Notice
from evalplatform.stages.comparison_runs import refusal_sentences
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.suite_comparison import Compared, SuiteComparison

ASSET = "model_comparison"
CODE_VERSION = "3"
FILE_STEM = "model-comparison"
MOST_CELLS = 40
"""Cells are compared pair by pair: 40 are 780 pairs an arm; 200 took 35 s and 7 MB an arm, and nobody reads that."""
MAIN_SECTIONS = ("overall-summary", "significance")


def compared_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that are compared: those without plugins, where there are several but not more than `MOST_CELLS`.

    What plugins do is `plugin_deltas`' matter. Of more cells, a person chooses whose files `report model-compare` reads.
    """
    plain = [cell for cell in cells if not cell.plugins]
    return plain if 1 < len(plain) <= MOST_CELLS else []


def materialize_model_comparison(context: SuiteContext, judge: JudgeCell) -> StageResult:
    """Compare the suite's plugin-free cells under one judge, arm by arm. Raises as `SuiteComparison.materialize` does."""
    cells = compared_cells(context.project.cells_of(context.suite_id))
    return SuiteComparison(ASSET, CODE_VERSION, FILE_STEM, _compared).materialize(context, cells, judge)


def _compared(context: SuiteContext, runs: Sequence[ComparedRun], missing: Mapping[str, str]) -> Compared:
    """Compare the runs on every treatment arm, since an arm's ranking says nothing of another's; without one, on the baseline arm."""
    correction = context.suite.correction
    arms = dict.fromkeys(arm for run in runs for arm in run.treatment_arms)
    made = {arm: compare_models(runs, treatment_arm=arm, correction=correction) for arm in arms} or {
        context.suite.baseline_arm: compare_models(runs, correction=correction)
    }
    page = model_comparison_page(made)
    notices = (*(Notice(level="caution", text=f"{cell} is not compared: {why}.") for cell, why in missing.items()), *page.notices)
    return Compared(
        data=model_comparison_json(made),
        page=page.model_copy(update={"notices": notices}),
        refusals=refusal_sentences(context, (found for found in made.values() if isinstance(found, Refused))),
        shortfalls=_shortfalls(made),
        main_sections=tuple(f"{arm}-{section}" for arm in made for section in MAIN_SECTIONS),
    )


def _shortfalls(made: Mapping[str, ModelComparison | Refused]) -> tuple[str, ...]:
    """Return why comparisons that were made are no answers, each reason once."""
    found = (one for one in made.values() if not isinstance(one, Refused))
    return tuple(dict.fromkeys(sentence for one in found for sentence in shortfall_sentences(one)))
