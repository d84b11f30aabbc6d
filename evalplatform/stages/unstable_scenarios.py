"""Stage `unstable_scenarios`: what separate batches of one commit say of the same scenario, over the last days."""

from evalplatform.drift.instability import BatchWindow, InstabilityReading, batch_window, unstable_scenarios, window_start
from evalplatform.kernel.digests import json_digest
from evalplatform.reports.html import Download
from evalplatform.reports.page import Page, page_html, page_markdown
from evalplatform.reports.unstable_report import headline, left_out_sentences, unstable_json, unstable_page
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.runs_context import RunsContext
from evalplatform.stages.runs_facts import UnstableFacts

ASSET = "unstable_scenarios"
CODE_VERSION = "1"
JSON_FILE = "unstable-scenarios.json"
MARKDOWN_FILE = "unstable-scenarios.md"
HTML_FILE = "unstable-scenarios.html"
PREVIEW_ROWS = 10


def read_instability(context: RunsContext) -> InstabilityReading:
    """Return what the store's batches say now; nothing is written. Raises StorageError where the batch store cannot be read."""
    return unstable_scenarios(_window(context), runs_of=context.batches.runs)


def materialize_unstable_scenarios(context: RunsContext) -> StageResult:
    """Store what the batches of the window say, with the counts that it rests on. The same batches again change nothing.

    Raises:
        StorageError: the batch store or the object store cannot be read or written.
    """
    window = _window(context)
    key = StageKey(context.artifact(ASSET), inputs=_inputs(window), code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    reading = unstable_scenarios(window, runs_of=context.batches.runs)
    page = unstable_page(reading)
    downloads = [Download(label="Markdown", file_name=MARKDOWN_FILE), Download(label="JSON", file_name=JSON_FILE)]
    files = {
        JSON_FILE: unstable_json(reading),
        MARKDOWN_FILE: page_markdown(page).encode(),
        HTML_FILE: page_html(page, downloads=downloads).encode(),
    }
    return stored_result(context, key, files=files, facts=as_facts(_facts(reading, page)))


def _window(context: RunsContext) -> BatchWindow:
    now = context.clock.now()
    return batch_window(context.batches.batches(since=window_start(now)), now=now)


def _inputs(window: BatchWindow) -> dict[str, str]:
    """Return what the reading depends on: which batches are read, and how many are left out. The hour at which they are read is none."""
    return {
        "batches": json_digest([[batch.id, batch.content_digest] for batch in window.batches]),
        "left_out": json_digest([window.continued, window.compacted, window.expired, window.beyond_limit]),
    }


def _facts(reading: InstabilityReading, page: Page) -> UnstableFacts:
    tables = [section.table.with_changes(rows=section.table.rows[:PREVIEW_ROWS]) for section in page.sections]
    return UnstableFacts(
        headline=headline(reading),
        has_evidence=reading.has_evidence,
        unstable=len(reading.unstable),
        scenarios_compared=reading.scenarios_compared,
        repeated_commits=reading.repeated_commits,
        batches_read=reading.batches_read,
        left_out=tuple(left_out_sentences(reading)),
        preview=tables[0] if tables else None,
    )
