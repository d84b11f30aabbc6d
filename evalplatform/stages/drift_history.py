"""Stages `drift_history` and `standings`: what the nights of the window say together, and what stands. They ask nobody."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

import orjson

from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.monitoring.trend import MOST_NIGHTS, WINDOW, DriftHistory, StreamStanding, drift_history, stream_standings
from evalplatform.ports.monitoring import MonitoringStore
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
from evalplatform.runs.night import SENTINEL, Night
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.mark_table import marks_table
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.monitoring_facts import DriftHistoryFacts, StandingsFacts

ASSET: Final = "drift_history"
MARKS_FILE = "marks.parquet"
STANDINGS_ASSET: Final = "standings"
CODE_VERSION = "2"
FEATURE: Final = "drift.history"
PREVIEW_ROWS = 10


def recent_nights(store: MonitoringStore, *, stream: str | None, limit: int) -> list[Night]:
    """Return the newest nights, of one stream or of all.

    Raises:
        UnknownNameError: no schedule has that name, and no night is of it.
        StorageError: the store cannot be read.
    """
    found = list(store.nights(stream=stream, limit=limit))
    if stream is not None and not found:
        known = {SENTINEL, *(schedule.id for schedule in store.schedules()), *(night.stream for night in store.nights(limit=MOST_NIGHTS))}
        if stream not in known:
            raise UnknownNameError("stream of nights", stream, known)
    return found


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


def read_standings(context: MonitoringContext, newest_first: Sequence[Night] | None = None) -> list[StreamStanding]:
    """Return what stands in each stream.

    Of a schedule, and of the sentinel, that is said however long ago its last night was, and what was last checked however long its failed
    checks have gone on. A removed schedule whose nights are all older than the window is past.

    Args:
        context: the monitoring side of the project.
        newest_first: the nights of the window, where they are read already.

    Raises:
        StorageError: the store cannot be read.
    """
    nights = _nights(context)[0] if newest_first is None else newest_first
    of_streams: dict[str, list[Night]] = {stream: [] for stream in (SENTINEL, *(schedule.id for schedule in context.store.schedules()))}
    for night in nights:
        of_streams.setdefault(night.stream, []).append(night)
    for stream, read in of_streams.items():
        if not any(night.is_checked for night in read):
            read += _nights_to_the_last_checked(context, stream, before=read[-1].slot.at if read else None)
    older_unread = {stream for stream, read in of_streams.items() if read and _has_older(context, read[-1])}
    return stream_standings((night for read in of_streams.values() for night in read), older_unread=older_unread)


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
    data = orjson.dumps(history_json(history, standings), option=orjson.OPT_INDENT_2)
    files = _files(ASSET, history_page(history, standings), data, tables={MARKS_FILE: marks_table(history)})
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


def _nights_to_the_last_checked(context: MonitoringContext, stream: str, *, before: datetime | None) -> Iterator[Night]:
    for night in islice(context.store.nights(stream=stream, before=before), MOST_NIGHTS):
        yield night
        if night.is_checked:
            return


def _has_older(context: MonitoringContext, night: Night) -> bool:
    return any(context.store.nights(stream=night.stream, before=night.slot.at, limit=1))


def _digest(standings: list[StreamStanding]) -> str:
    return json_digest([standing.model_dump(mode="json") for standing in standings])


def _files(name: str, page: Page, data: bytes, *, tables: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    stem = name.replace("_", "-")
    downloads = [Download(label="Markdown", file_name=f"{stem}.md"), Download(label="JSON", file_name=f"{stem}.json")]
    downloads += [Download(label="Parquet", file_name=file_name) for file_name in tables or {}]
    return {
        f"{stem}.html": page_html(page, downloads=downloads).encode(),
        f"{stem}.md": page_markdown(page).encode(),
        f"{stem}.json": data,
        **(tables or {}),
    }
