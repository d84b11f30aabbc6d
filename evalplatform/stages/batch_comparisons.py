"""Stage `batch_comparisons` [candidate batch]: a batch beside the one recorded just before it, as JSON, Markdown and pages."""

from io import BytesIO
from itertools import islice

from evalplatform.comparisons.batches.headline import headline_baseline
from evalplatform.comparisons.batches.records import HeadlineChoice
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.reports.batch_comparison_html import batch_comparison_html
from evalplatform.reports.batch_comparison_markdown import batch_comparison_markdown
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_comparison_v3 import V3Writer
from evalplatform.reports.batch_comparison_view import BatchComparisonReport
from evalplatform.reports.batch_comparison_words import counts_line, verdict_sentence
from evalplatform.reports.html import Download
from evalplatform.reports.view import Table
from evalplatform.runs.remembered_gate import RememberedGate
from evalplatform.stages.batch_diff import diff_page_names, diff_pages, first_divergence
from evalplatform.stages.batch_gate import batch_gate, remembered_for
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.gate import GatedComparison
from evalplatform.stages.gate_baseline import last_gate_baseline
from evalplatform.stages.runs_context import RunsContext
from evalplatform.stages.runs_facts import BatchComparisonFacts

ASSET = "batch_comparisons"
CODE_VERSION = "3"
JSON_FILE = "batch-comparison.json"
MARKDOWN_FILE = "batch-comparison.md"
HTML_FILE = "batch-comparison.html"
DIFF_PREFIX = "diff."  # a scenario may be called as one of the files above
MOST_DIFF_PAGES = 200
"""Rows beyond have no page of their own here; `evalplatform diff --scenario` opens any."""
PREVIEW_ROWS = 10
PREVIEW_COLUMNS = ("Scenario", "Change", "Runs passed")


def materialize_batch_comparison(context: RunsContext, candidate_id: str) -> StageResult:
    """Compare a batch with the one recorded just before it, and store the report, with a page for the diff of each row's two runs.

    Pure computation: no agent runs, no judge is asked.

    Raises:
        UnknownNameError: the store has no such batch.
        InputError: it is a batch of another project, it has expired, or no whole batch was recorded before it.
        StorageError: a store cannot be read or written.
    """
    chosen = chosen_batches(context, candidate_id)
    remembered = remembered_for(context, chosen)
    inputs = comparison_inputs(chosen, remembered)
    key = StageKey(context.artifact(ASSET, chosen.candidate.id), inputs=inputs, code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    data = BytesIO()
    writer = V3Writer(data)
    baseline, candidate, gated, gate = batch_gate(context, chosen, remembered, on_row=writer.add)
    comparison = gated.comparison
    divergence = first_divergence(comparison, baseline, candidate)
    writer.finish(comparison, choice=chosen.choice, divergence=divergence, gate=gate)
    names = {name: f"{DIFF_PREFIX}{file}" for name, file in islice(diff_page_names(comparison).items(), MOST_DIFF_PAGES)}
    pages = list(diff_pages(comparison, baseline, candidate, names=names, comparison_file=HTML_FILE))
    links = {page.scenario_id: page.file_name for page in pages}
    report = batch_comparison_report(comparison, choice=chosen.choice, divergence=divergence, diff_pages=links, gate=gate)
    downloads = [Download(label="Markdown", file_name=MARKDOWN_FILE), Download(label="JSON", file_name=JSON_FILE)]
    files = {
        JSON_FILE: data.getvalue(),
        MARKDOWN_FILE: batch_comparison_markdown(report).encode(),
        HTML_FILE: batch_comparison_html(report, downloads=downloads).encode(),
        **{page.file_name: page.html.encode() for page in pages},
    }
    return stored_result(context, key, files=files, facts=as_facts(_facts(gated, chosen, report)))


def chosen_batches(context: RunsContext, candidate_id: str) -> HeadlineChoice:
    """Return the candidate with its baseline, and why it is that. Raises as `materialize_batch_comparison` does."""
    candidate = context.batches.batch(candidate_id)
    if candidate.retention == "expired":
        raise InputError(f"{candidate.id} has expired: its runs are no longer kept, so that it can be compared with nothing.")
    ids = context.batches.ids()
    older = (context.batches.batch(batch_id) for batch_id in ids[ids.index(candidate.id) + 1 :])  # read only as far as needed
    chosen = headline_baseline(older, candidate, last_gate_baseline=last_gate_baseline(context.gates, candidate.id))
    if chosen is None:
        raise InputError(
            f"no batch that is still kept was recorded before {candidate.id}: a comparison needs two, and takes no partial one by itself."
        )
    return chosen


def comparison_inputs(chosen: HeadlineChoice, remembered: RememberedGate | None) -> dict[str, str]:
    """Return what a comparison and its gate depend on: both batches, why the baseline is that, and what a remembered gate pinned."""
    return {
        **({} if remembered is None else {"remembered": json_digest(remembered.report.model_dump(mode="json"))}),
        "baseline": chosen.baseline.content_digest,
        "baseline_retention": chosen.baseline.retention,
        "candidate": chosen.candidate.content_digest,
        "candidate_retention": chosen.candidate.retention,
        "choice": chosen.choice,
    }


def _facts(gated: GatedComparison, chosen: HeadlineChoice, report: BatchComparisonReport) -> BatchComparisonFacts:
    comparison = gated.comparison
    return BatchComparisonFacts(
        baseline=chosen.baseline.id,
        candidate=chosen.candidate.id,
        choice=chosen.choice,
        verdict=comparison.verdict,
        sentence=verdict_sentence(comparison),
        counts_line=counts_line(comparison),
        compared=comparison.compared,
        newly_failing=comparison.counts.get("newly_failing", 0),
        could_not_run=comparison.could_not_run,
        would_fail=gated.fails,
        baseline_coverage=comparison.baseline_coverage,
        candidate_coverage=comparison.candidate_coverage,
        notices=tuple(notice.text for notice in report.page.notices),
        preview=_preview(report.table),
    )


def _preview(table: Table) -> Table | None:
    """Return the first rows, with the columns that fit beside Dagster's panels; the pages that rows lead to lie elsewhere."""
    places = [place for place, column in enumerate(table.columns) if column.label in PREVIEW_COLUMNS]
    rows = (tuple(row[place].model_copy(update={"href": None}) for place in places) for row in table.rows[:PREVIEW_ROWS])
    return Table(columns=tuple(table.columns[place] for place in places), rows=tuple(rows)) if table.rows else None
