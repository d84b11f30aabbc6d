"""What the comparisons of a suite's cells have in common: which stored versions they read, their named inputs, what they say of themselves.

A comparison reads each cell's answers, scores and summary under one judge. Its data version stands for the summaries: theirs stand for the
answers and scores that they were made from.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.plugin_delta_records import FewPairs, PluginDelta
from evalplatform.comparisons.refusals import Refused
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.reports.html import Download
from evalplatform.reports.page import Page, page_html, page_markdown
from evalplatform.reports.plugin_delta_words import delta_warning
from evalplatform.stages import arm_answers, arm_summary, judged_scores
from evalplatform.stages.checks.stored import refuse_where_blocked
from evalplatform.stages.compared_runs import RunVersions, current_versions
from evalplatform.stages.comparison_advice import stale_sides, suite_refusal_sentence
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.facts import ComparisonFacts

NOT_THERE = "none"
"""Stands for the summary of a cell that has none."""


def comparison_inputs(context: SuiteContext, cells: Iterable[Cell], summaries: Mapping[str, str | None]) -> dict[str, str]:
    """Return the named inputs of a comparison of cells.

    Args:
        context: the suite.
        cells: who is compared.
        summaries: the data version of each cell's summary, by the cell's id; None, or no entry, for a cell that has none.
    """
    return {
        **{summary_input(cell.id): summaries.get(cell.id) or NOT_THERE for cell in cells},
        "correction": context.suite.correction,
        "product": context.suite.product,
    }


def summary_input(cell_id: str) -> str:
    """Return the name of the input that is a cell's summary."""
    return f"{arm_summary.ASSET}:{cell_id}"


def versions_to_compare(context: SuiteContext, cell: Cell, judge: JudgeCell) -> RunVersions:
    """Return the current versions of a cell under a judge, once it is sure that they are of what their keys stand for and nothing blocks.

    Raises:
        InputError: the key of the cell or the judge stands for something else, something was never materialized, or versions are mixed.
        CheckFailedError: a check that blocks failed.
    """
    for owner in (cell, judge):
        context.claim_key(owner)
    versions = current_versions(context, cell, judge)
    refuse_where_blocked(context, cell, judge)
    return versions


def versions_by_cell(context: SuiteContext, cells: Sequence[Cell], judge: JudgeCell) -> dict[str, RunVersions]:
    """Return the current versions of those of the cells that have scores under a judge, by id. Raises as `versions_to_compare` does."""
    return {cell.id: versions_to_compare(context, cell, judge) for cell in cells if _is_scored(context, cell, judge)}


def lineage_of(versions: Iterable[RunVersions]) -> tuple[ArtifactManifest, ...]:
    """Return all that was read, cell by cell."""
    return tuple(chain.from_iterable(version.lineage for version in versions))


def summaries_of(versions: Mapping[str, RunVersions]) -> dict[str, str | None]:
    """Return the data version of each cell's summary, by the cell's id."""
    return {cell_id: version.summary.data_version for cell_id, version in versions.items()}


def refusal_sentences(context: SuiteContext, refused: Iterable[Refused]) -> tuple[str, ...]:
    """Return every refusal as a sentence, each once."""
    return tuple(dict.fromkeys(suite_refusal_sentence(context, refusal) for one in refused for refusal in one.refusals))


def delta_shortfalls(delta: PluginDelta) -> tuple[str, ...]:
    """Return why a plugin delta that was made is no answer: arms that were scored in both runs for too few questions."""
    return tuple(delta_warning(warning) for warning in delta.warnings if isinstance(warning, FewPairs))


def comparison_facts(
    context: SuiteContext,
    page: Page,
    *,
    cells: Sequence[Cell],
    versions: Mapping[str, RunVersions],
    refusals: Sequence[str] = (),
    shortfalls: Sequence[str] = (),
    main_sections: Sequence[str],
) -> ComparisonFacts:
    """Return what a comparison says of itself: who was compared, who is missing, why it is no answer, and what its page tells first.

    `main_sections` are the keys of the page's sections whose tables are kept; those that the page does not have are passed over.
    """
    told = (*refusals, *shortfalls)
    return ComparisonFacts(
        compared=tuple(versions),
        missing=tuple(cell.id for cell in cells if cell.id not in versions),
        refusals=tuple(refusals),
        shortfalls=tuple(shortfalls),
        advice=stale_sides(context, versions) if refusals else (),
        findings=tuple(finding.sentence for finding in page.findings),
        warnings=tuple(notice.text for notice in page.notices if not notice.text.endswith(told)),
        tables={section.title: section.table for section in page.sections if section.key in main_sections},
        complete=all(version.complete for version in versions.values()),
    )


def report_files(page: Page, *, markdown_file: str, html_file: str, json_file: str) -> dict[str, bytes]:
    """Return a comparison's page as Markdown and as HTML, which leads to the Markdown and the JSON beside it."""
    downloads = [Download(label="Markdown", file_name=markdown_file), Download(label="JSON", file_name=json_file)]
    return {markdown_file: page_markdown(page).encode(), html_file: page_html(page, downloads=downloads).encode()}


def _is_scored(context: SuiteContext, cell: Cell, judge: JudgeCell) -> bool:
    """Say whether a cell has been taken through to its summary under a judge."""
    partition = arm_summary.partition(cell, judge)
    wanted = ((arm_answers.ASSET, cell.key), (judged_scores.ASSET, partition), (arm_summary.ASSET, partition))
    return all(context.catalog.find_current(context.artifact(asset, name)) is not None for asset, name in wanted)
