"""Stage `plugin_deltas` [plugin cell x judge]: what a cell's plugins do to its scores, against the same cell without plugins."""

from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.refusals import Refused
from evalplatform.kernel.errors import InputError
from evalplatform.project.cells import Cell, JudgeCell, plugin_free_pair
from evalplatform.reports.plugin_delta_report import plugin_delta_page, refused_page
from evalplatform.reports.plugin_delta_v1 import plugin_delta_bytes
from evalplatform.stages import judged_scores
from evalplatform.stages.compared_runs import compared_run
from evalplatform.stages.comparison_runs import (
    comparison_facts,
    comparison_inputs,
    delta_shortfalls,
    lineage_of,
    refusal_sentences,
    report_files,
    summaries_of,
    versions_to_compare,
)
from evalplatform.stages.context import StageKey, StageResult, SuiteContext, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts

ASSET = "plugin_deltas"
CODE_VERSION = "2"
JSON_FILE = "delta.json"
REFUSED_FILE = "refused.json"
MARKDOWN_FILE = "report.md"
HTML_FILE = "report.html"
MAIN_SECTIONS = ("scores",)


def partition(cell: Cell, judge: JudgeCell) -> str:
    """Return the artifact partition of a plugin cell under a judge."""
    return judged_scores.partition(cell.key, judge.key)


def pair_of(context: SuiteContext, cell: Cell) -> Cell:
    """Return the suite's cell that differs from a plugin cell in having no plugins.

    Raises:
        InputError: the cell has no plugins, or the suite has no such cell.
    """
    pair = plugin_free_pair(cell, context.project.cells_of(context.suite_id))
    if pair is not None:
        return pair
    if not cell.plugins:
        raise InputError(f"the cell {cell.id!r} has no plugins, so there is no plugin to measure.", field=f"cells.{cell.id}.plugins")
    raise InputError(
        f"the suite {context.suite_id!r} has no plugin-free pair of {cell.id!r}: a cell of the same model, endpoint, harness and sampling "
        f"without {cell.plugin_set}. Add one to compare with.",
        field=f"suites.{context.suite_id}.cells",
    )


def materialize_plugin_deltas(context: SuiteContext, cell: Cell, judge: JudgeCell) -> StageResult:
    """Compare a plugin cell with its plugin-free pair under one judge: pure computation, no call.

    A refusal is a result: it is stored with its reasons in place of the numbers.

    Raises:
        InputError: there is no pair, something that is read was never materialized, or versions are mixed.
        CheckFailedError: a check that blocks failed for one of the two.
    """
    cells = (pair_of(context, cell), cell)
    versions = {one.id: versions_to_compare(context, one, judge) for one in cells}
    key = StageKey(
        context.artifact(ASSET, partition(cell, judge)),
        inputs=comparison_inputs(context, cells, summaries_of(versions)),
        code_version=CODE_VERSION,
        lineage=lineage_of(versions.values()),
    )
    if (known := unchanged_result(context, key)) is not None:
        return known
    baseline, plugin = (compared_run(context, version) for version in versions.values())
    delta = plugin_delta(baseline, plugin, correction=context.suite.correction)
    if isinstance(delta, Refused):
        page, json_file, data = refused_page(delta), REFUSED_FILE, delta.model_dump_json(indent=1).encode()
    else:
        page, json_file, data = plugin_delta_page(delta), JSON_FILE, plugin_delta_bytes(delta)
    facts = comparison_facts(
        context,
        page,
        cells=cells,
        versions=versions,
        refusals=refusal_sentences(context, [delta]) if isinstance(delta, Refused) else (),
        shortfalls=() if isinstance(delta, Refused) else delta_shortfalls(delta),
        main_sections=MAIN_SECTIONS,
    )
    reports = report_files(page, markdown_file=MARKDOWN_FILE, html_file=HTML_FILE, json_file=json_file)
    return stored_result(context, key, files={json_file: data, **reports}, facts=as_facts(facts))
