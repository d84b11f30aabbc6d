"""How a comparison over many cells of a suite under one judge is made and stored; what is computed differs from stage to stage."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.kernel.errors import InputError
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.reports.page import Page
from evalplatform.stages.compared_runs import compared_run
from evalplatform.stages.comparison_runs import (
    comparison_facts,
    comparison_inputs,
    lineage_of,
    report_files,
    summaries_of,
    versions_by_cell,
)
from evalplatform.stages.context import StageKey, StageResult, SuiteContext, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts


@dataclass(frozen=True)
class Compared:
    """A comparison as it is stored.

    Attributes:
        data: its JSON.
        page: its report.
        refusals: the sentences of what it refused to compare.
        shortfalls: those of what it compared and that is no answer.
        main_sections: the keys of the page's sections that a reader sees first.
    """

    data: bytes
    page: Page
    refusals: tuple[str, ...]
    shortfalls: tuple[str, ...]
    main_sections: tuple[str, ...]


Compare = Callable[[SuiteContext, Sequence[ComparedRun], Mapping[str, str]], Compared]
"""Compares runs; the mapping names the cells that have none, each with the reason."""


@dataclass(frozen=True)
class SuiteComparison:
    """One stage over many cells: its asset, the version of its code, how its files begin, and what it computes of the cells' runs."""

    asset: str
    code_version: str
    file_stem: str
    compare: Compare

    def materialize(self, context: SuiteContext, cells: Sequence[Cell], judge: JudgeCell) -> StageResult:
        """Compare those of the cells that have scores under the judge, and name the others: pure computation, no call.

        Raises:
            InputError: no cell has scores under the judge, or versions are mixed.
            CheckFailedError: a check that blocks failed for one of the cells.
        """
        versions = versions_by_cell(context, cells, judge)
        if not versions:
            raise InputError(
                f"no cell of the suite {context.suite_id!r} that {self.asset} compares has scores by {judge.id!r} yet; "
                "materialize judged_scores and arm_summary first."
            )
        key = StageKey(
            context.artifact(self.asset, judge.key),
            inputs=comparison_inputs(context, cells, summaries_of(versions)),
            code_version=self.code_version,
            lineage=lineage_of(versions.values()),
        )
        if (known := unchanged_result(context, key)) is not None:
            return known
        missing = {cell.id: f"it has no scores by {judge.id}" for cell in cells if cell.id not in versions}
        made = self.compare(context, [compared_run(context, version) for version in versions.values()], missing)
        facts = comparison_facts(
            context,
            made.page,
            cells=cells,
            versions=versions,
            refusals=made.refusals,
            shortfalls=(*_alone(versions, judge), *made.shortfalls),
            main_sections=made.main_sections,
        )
        json_file = f"{self.file_stem}.json"
        reports = report_files(made.page, markdown_file=f"{self.file_stem}.md", html_file=f"{self.file_stem}.html", json_file=json_file)
        return stored_result(context, key, files={json_file: made.data, **reports}, facts=as_facts(facts))


def _alone(cells: Iterable[str], judge: JudgeCell) -> tuple[str, ...]:
    """Return that a single cell has scores, where that is so: what is made of it is no comparison yet."""
    scored = list(cells)
    return (
        (f"Of these cells only {scored[0]} has scores by {judge.id}: there is nothing to compare it with yet.",) if len(scored) == 1 else ()
    )
