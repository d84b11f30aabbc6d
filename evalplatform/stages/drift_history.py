"""Stages `drift_history` and `standings`: what the nights of the window say together, and what stands. They ask nobody."""

from itertools import islice
from typing import Final

import orjson

from evalplatform.drift.sentinel import night_reading, watched_scenario
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.monitoring.trend import MOST_NIGHTS, WINDOW, DriftHistory, StreamStanding, drift_history, stream_standings
from evalplatform.reports.drift_history_report import (
    history_json,
    history_page,
    history_sentence,
    standing_json,
    standing_sentence,
    standings_table,
    trend_table,
)
from evalplatform.reports.html import Download
from evalplatform.reports.page import Page, page_html, page_markdown
from evalplatform.reports.view import Section
from evalplatform.runs.night import Night, WatchedScenario
from evalplatform.runs.records import Run
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.monitoring_facts import DriftHistoryFacts, StandingsFacts

ASSET: Final = "drift_history"
STANDINGS_ASSET: Final = "standings"
CODE_VERSION = "1"
FEATURE: Final = "drift.history"
PREVIEW_ROWS = 10


def read_drift_history(context: MonitoringContext) -> tuple[DriftHistory, list[StreamStanding]]:
    """Return what the nights of the window say together, and what stands; nothing is written.

    Raises:
        EntitlementError: `drift.history` is not granted to the tenant.
        StorageError: the store cannot be read.
    """
    context.project.entitlements.require(FEATURE, tenant=context.project.settings.tenant)
    nights, truncated = _nights(context)
    now = context.clock.now()
    return drift_history(nights, since=now - WINDOW, until=now, truncated=truncated), read_standings(context, nights)


def read_standings(context: MonitoringContext, newest_first: list[Night] | None = None) -> list[StreamStanding]:
    """Return what stands in each stream, also in one whose last night is older than the window. Raises StorageError."""
    nights = _nights(context)[0] if newest_first is None else newest_first
    streams = {night.stream for night in nights} | {schedule.id for schedule in context.store.schedules()}
    older = (context.store.nights(stream=stream, limit=MOST_NIGHTS) for stream in sorted(streams - {night.stream for night in nights}))
    return stream_standings([*nights, *(night for of_stream in older for night in of_stream)])


def recomputed_scenarios(context: MonitoringContext, night: Night) -> tuple[WatchedScenario, ...]:
    """Compute again what a night saw, from the stored batches of its two legs; nothing else is needed for it.

    Raises:
        InputError: a leg is missing, was compacted or has expired, so that its run sets are no longer whole.
        StorageError: the batch store cannot be read.
    """
    if night.live_batch is None or night.reference_fail_rate is None:
        raise InputError(f"the night {night.key} has no live leg to be computed from.")
    live = _whole_runs(context, night.live_batch)
    replay = {} if night.replay_batch is None else _whole_runs(context, night.replay_batch)
    declared = context.runs.batches.batch(night.live_batch).header.scenarios
    seen = [
        watched_scenario(
            scenario_id,
            runs,
            baseline=replay[scenario_id][-1] if scenario_id in replay else None,
            tolerance=declared[scenario_id].applied_tolerance,
            fail_rate=night.reference_fail_rate,
        )
        for scenario_id, runs in live.items()
    ]
    return tuple(sorted([*seen, *night.dead_sensors], key=lambda one: one.scenario_id))


def recomputed_state(context: MonitoringContext, night: Night) -> str:
    """Return the state that a night's stored batches give. Raises as `recomputed_scenarios` does."""
    return night_reading(recomputed_scenarios(context, night)).state


def materialize_drift_history(context: MonitoringContext) -> StageResult:
    """Store the drift history. The same nights again change nothing.

    Raises:
        EntitlementError: `drift.history` is not granted to the tenant.
        StorageError: a store cannot be read or written.
    """
    history, standings = read_drift_history(context)
    inputs = {"nights": json_digest(history.model_dump(mode="json", exclude={"since", "until"})), "standings": _digest(standings)}
    key = StageKey(context.artifact(ASSET), inputs=inputs, code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    files = _files(ASSET, history_page(history, standings), orjson.dumps(history_json(history, standings), option=orjson.OPT_INDENT_2))
    table = trend_table(history.trends[:PREVIEW_ROWS])
    facts = DriftHistoryFacts(
        sentence=history_sentence(history),
        nights=history.night_count,
        failed_checks=history.nights.get("check_failed", 0),
        scenarios=len(history.trends),
        drifted_scenarios=sum(trend.drifted > 0 for trend in history.trends),
        verdict_rate=history.verdict_rate,
        path_rate=history.path_rate,
        preview=table if table.rows else None,
    )
    return stored_result(context, key, files=files, facts=as_facts(facts))


def materialize_standings(context: MonitoringContext) -> StageResult:
    """Store what stands in each stream. The same standings again change nothing. Raises StorageError."""
    standings = read_standings(context)
    key = StageKey(context.artifact(STANDINGS_ASSET), inputs={"standings": _digest(standings)}, code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    table = standings_table(standings)
    page = Page(
        kind="Standings",
        title="What stands",
        subtitle=" ".join(map(standing_sentence, standings)) or "No night is recorded.",
        sections=(Section(key="standings", title="Streams", table=table),) if table.rows else (),
    )
    data = orjson.dumps([standing_json(standing) for standing in standings], option=orjson.OPT_INDENT_2)
    facts = StandingsFacts(
        streams=len(standings),
        clean=sum(one.standing.now == "checked_clean" for one in standings),
        flagged=sum(one.standing.now == "checked_flagged" for one in standings),
        failed=sum(one.standing.now == "check_failed" for one in standings),
        sentences=tuple(map(standing_sentence, standings)),
        preview=table.with_changes(rows=table.rows[:PREVIEW_ROWS]) if table.rows else None,
    )
    return stored_result(context, key, files=_files(STANDINGS_ASSET, page, data), facts=as_facts(facts))


def _nights(context: MonitoringContext) -> tuple[list[Night], bool]:
    found = list(islice(context.store.nights(since=context.clock.now() - WINDOW), MOST_NIGHTS + 1))
    return found[:MOST_NIGHTS], len(found) > MOST_NIGHTS


def _whole_runs(context: MonitoringContext, batch_id: str) -> dict[str, tuple[Run, ...]]:
    try:
        batch = context.runs.batches.batch(batch_id)
    except UnknownNameError as error:
        raise InputError(f"the batch {batch_id} is no longer there.") from error
    if batch.retention != "whole":
        raise InputError(f"the batch {batch_id} is {batch.retention}, so that its run sets are no longer whole.")
    runs: dict[str, tuple[Run, ...]] = dict.fromkeys(batch.header.scenarios, ())
    for run in context.runs.batches.runs(batch_id):
        runs[run.scenario_id] = (*runs.get(run.scenario_id, ()), run)
    return runs


def _digest(standings: list[StreamStanding]) -> str:
    return json_digest([standing.model_dump(mode="json") for standing in standings])


def _files(name: str, page: Page, data: bytes) -> dict[str, bytes]:
    stem = name.replace("_", "-")
    downloads = [Download(label="Markdown", file_name=f"{stem}.md"), Download(label="JSON", file_name=f"{stem}.json")]
    return {
        f"{stem}.html": page_html(page, downloads=downloads).encode(),
        f"{stem}.md": page_markdown(page).encode(),
        f"{stem}.json": data,
    }
