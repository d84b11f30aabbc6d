"""Stages `sentinel_nights` [day] and `monitoring_nights` [night]: a night as a page, with the comparison of its two legs."""

from collections.abc import Mapping
from io import BytesIO
from typing import Final

import orjson
from pydantic import JsonValue

from evalplatform.artifacts.download_paths import FileAddress
from evalplatform.artifacts.records import ArtifactId
from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.reports.alert_words import REASON_WORDS
from evalplatform.reports.batch_comparison_html import batch_comparison_html
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_comparison_v3 import V3Writer
from evalplatform.reports.html import Download
from evalplatform.reports.night_page import night_page, scenario_table
from evalplatform.reports.page import page_html, page_markdown
from evalplatform.reports.sentinel_words import night_json, night_sentence
from evalplatform.runs.night import Night
from evalplatform.stages.batch_diff import diff_page_names, diff_pages, first_divergence
from evalplatform.stages.batch_sides import stored_side
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.monitoring_facts import NightFacts

SENTINEL_ASSET: Final = "sentinel_nights"
MONITOR_ASSET: Final = "monitoring_nights"
CODE_VERSION = "1"
JSON_FILE = "night.json"
MARKDOWN_FILE = "night.md"
HTML_FILE = "night.html"
COMPARISON_FILE = "batch-comparison.html"
COMPARISON_JSON_FILE = "batch-comparison.json"
DIFF_PREFIX = "diff."
PREVIEW_ROWS = 10


def materialize_night(context: MonitoringContext, night: Night) -> StageResult:
    """Store the report of a night that has ended, with the comparison of its legs; asks nobody. The same night again changes nothing.

    Raises:
        InputError: the night is pending.
        StorageError: a store cannot be read or written.
    """
    if night.state == "pending":
        raise InputError(f"the night {night.key} is under way; its report is made when it has ended.")
    inputs = {"night": json_digest(night.model_dump(mode="json", exclude={"alert"}))}
    key = StageKey(night_artifact(context, night), inputs=inputs, code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    compared, diffs = _comparison(context, night)
    comparison_file = COMPARISON_FILE if compared else None
    page = night_page(night, comparison_file=comparison_file, diff_pages=diffs)
    downloads = [Download(label="Markdown", file_name=MARKDOWN_FILE), Download(label="JSON", file_name=JSON_FILE)]
    if compared:
        downloads.append(Download(label="Comparison of both legs", file_name=COMPARISON_FILE))
    files = {
        HTML_FILE: page_html(page, downloads=downloads).encode(),
        MARKDOWN_FILE: page_markdown(page).encode(),
        JSON_FILE: orjson.dumps(_json(night), option=orjson.OPT_INDENT_2),
        **compared,
    }
    return stored_result(context, key, files=files, facts=as_facts(_facts(night, comparison_page=bool(compared))))


def night_artifact(context: MonitoringContext, night: Night) -> ArtifactId:
    """Return the id of a night's artifact: by local day for the sentinel's, by night key for a schedule's."""
    if night.source == "sentinel":
        return context.artifact(SENTINEL_ASSET, night.slot.local_date.isoformat())
    return context.artifact(MONITOR_ASSET, night.key)


def night_link(context: MonitoringContext, night: Night) -> str:
    """Return where a person reads a night's report in the web app."""
    address = FileAddress(artifact=night_artifact(context, night), file=HTML_FILE)
    return context.project.deployment.web_url.rstrip("/") + address.path


def _comparison(context: MonitoringContext, night: Night) -> tuple[Mapping[str, bytes], Mapping[str, str]]:
    """Return the files of the comparison of both legs, and its diff pages by scenario; none where a leg is missing or no longer kept."""
    if night.replay_batch is None or night.live_batch is None:
        return {}, {}
    runs = context.runs
    try:
        replay, live = (stored_side(one, batches=runs.batches, objects=runs.objects) for one in (night.replay_batch, night.live_batch))
    except InputError:
        return {}, {}
    if "expired" in (replay.batch.retention, live.batch.retention):
        return {}, {}
    data = BytesIO()
    writer = V3Writer(data)
    comparison = compare_batches(replay.runs, live.runs, on_row=writer.add)
    divergence = first_divergence(comparison, replay, live)
    writer.finish(comparison, choice="named", divergence=divergence, gate=None)
    names = {name: f"{DIFF_PREFIX}{file}" for name, file in diff_page_names(comparison).items()}
    pages = list(diff_pages(comparison, replay, live, names=names, comparison_file=COMPARISON_FILE))
    links = {page.scenario_id: page.file_name for page in pages}
    report = batch_comparison_report(comparison, choice="named", divergence=divergence, diff_pages=links, gate=None)
    files = {
        COMPARISON_FILE: batch_comparison_html(report, downloads=[Download(label="JSON", file_name=COMPARISON_JSON_FILE)]).encode(),
        COMPARISON_JSON_FILE: data.getvalue(),
        **{page.file_name: page.html.encode() for page in pages},
    }
    return files, links


def _json(night: Night) -> dict[str, JsonValue]:
    """Return the night as JSON; of its alert the kind alone, since whether it arrived changes, and to whom is nobody else's business."""
    kind = None if night.alert is None else night.alert.kind
    return night_json(night.with_changes(alert=None)) | {"alert": kind}


def _shown_sentence(night: Night) -> str:
    """Return how a night came out without what an endpoint answered or where it is: that stands in the report alone."""
    if night.reason in ("endpoint_unreachable", "credential_unreadable"):
        return night_sentence(night.with_changes(detail=REASON_WORDS[night.reason]))
    return night_sentence(night)


def _facts(night: Night, *, comparison_page: bool) -> NightFacts:
    table = scenario_table(night, {})
    return NightFacts(
        key=night.key,
        source=night.source,
        stream=night.stream,
        due_at=night.slot.at,
        state=night.state,
        reason=night.reason,
        sentence=_shown_sentence(night),
        scenarios=len(night.scenarios),
        drifted=tuple(scenario.scenario_id for scenario in night.drifted),
        dead=tuple(scenario.scenario_id for scenario in night.dead_sensors),
        alert=None if night.alert is None else night.alert.kind,
        cost=night.cost,
        replay_batch=night.replay_batch,
        live_batch=night.live_batch,
        comparison_page=comparison_page,
        preview=table.with_changes(rows=table.rows[:PREVIEW_ROWS]) if night.scenarios else None,
    )
