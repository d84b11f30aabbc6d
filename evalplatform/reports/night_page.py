"""A night as a page: how it came out, a row for each scenario with the rule it was judged by, what it cost."""

from collections.abc import Iterator, Mapping

from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.alert_words import KIND_WORDS, REASON_WORDS
from evalplatform.reports.page import Page
from evalplatform.reports.sentinel_words import DEAD_WORDS, night_sentence, percent_words
from evalplatform.reports.view import Cell, Column, Fact, Notice, Section, Table, Tone
from evalplatform.reports.visible import with_visible_spaces
from evalplatform.runs.night import Alert, Night, NightCost, NightState, WatchedScenario

STATE_WORDS: dict[NightState, str] = {
    "pending": "under way",
    "checked_clean": "clean",
    "checked_flagged": "flagged",
    "check_failed": "check failed",
}
_COLUMNS = (
    Column(label="Scenario", numeric=False),
    Column(label="Reading", numeric=False),
    Column(label="Failed", meaning="Failed of graded live runs."),
    Column(label="Drifts at", meaning="From how many failures it has drifted."),
    Column(label="By chance", meaning="On how many nights a scenario that fails at the reference rate gets there."),
    Column(label="Path differs", meaning="Live runs whose tool path differs beyond the tolerance, of those with a path."),
    Column(label="Not graded", meaning="Live runs that could not run, or were stopped or not made."),
)


def night_page(night: Night, *, comparison_file: str | None, diff_pages: Mapping[str, str]) -> Page:
    """Return the report of a night.

    Args:
        night: as it is stored.
        comparison_file: the page of its comparison beside this one; None where it made none.
        diff_pages: by scenario id, the page beside this one that shows where its two runs part.
    """
    return Page(
        kind="Night",
        title=f"{night.stream}, {night.slot.local_date}",
        subtitle=night_sentence(night),
        headline_facts=tuple(_facts(night)),
        notices=tuple(_notices(night)),
        sections=tuple(_sections(night, comparison_file, diff_pages)),
    )


def reading_words(scenario: WatchedScenario, *, is_flagged: bool) -> str:
    """Return how a scenario came out, in a few words; only a flagged night says that one drifted."""
    if scenario.dead is not None:
        return f"dead sensor: {DEAD_WORDS[scenario.dead.kind]}"
    if scenario.is_unseen:
        return "drift: nothing was seen" if is_flagged else "not seen"
    parts = [name for name, drifted in (("verdict", scenario.verdict_drifted), ("tool path", scenario.path_drifted)) if drifted]
    return f"drift: {' and '.join(parts)}" if parts else "no drift"


def alert_state_words(alert: Alert | None) -> str:
    """Return what was told of a night, and whether it arrived."""
    if alert is None:
        return "none: the standing did not change"
    kind = KIND_WORDS[alert.kind]
    if alert.state == "nobody_to_tell":
        return f"{kind}; nobody to tell"
    if alert.state == "failed":
        failed = next(delivery for delivery in alert.deliveries if delivery.state == "failed")
        return f"{kind}; failed after {plural(failed.attempts, 'attempt')}: {failed.outcome}"
    return f"{kind}; {'being sent' if alert.state == 'pending' else 'sent'}"


def cost_words(cost: NightCost | None, *, is_pending: bool) -> str:
    """Return what a night took: wall time, CPU time, requests, bytes stored."""
    if cost is None:
        return "pending" if is_pending else "none: it never began"
    taken = f"{cost.wall_seconds:,.1f} s, {cost.cpu_seconds:,.1f} s of CPU"
    return f"{taken}, {plural(cost.requests, 'request')}, {cost.stored_bytes:,} bytes stored"


def scenario_table(night: Night, diff_pages: Mapping[str, str]) -> Table:
    """Return a row for each scenario, the drifted ones first."""
    in_order = sorted(night.scenarios, key=lambda one: (not one.drifted, one.dead is None, one.scenario_id))
    is_flagged = night.state == "checked_flagged"
    return Table(columns=_COLUMNS, rows=tuple(_row(one, diff_pages.get(one.scenario_id), is_flagged=is_flagged) for one in in_order))


def _row(scenario: WatchedScenario, diff_page: str | None, *, is_flagged: bool) -> tuple[Cell, ...]:
    is_unwatched = scenario.dead is not None or scenario.is_unseen
    tone: Tone = "worse" if is_flagged and scenario.drifted else "caution" if is_unwatched else "plain"
    name = Cell(text=with_visible_spaces(scenario.scenario_id), href=diff_page)
    reading = Cell(text=reading_words(scenario, is_flagged=is_flagged), tone=tone)
    if scenario.dead is not None:
        return (name, reading, *(Cell(text=words.MISSING, tone="muted") for _ in _COLUMNS[2:]))
    path = words.MISSING if scenario.path_drift_at is None else f"{scenario.path_differing}/{scenario.path_graded}"
    return (
        name,
        reading,
        Cell(text=f"{scenario.failed}/{scenario.graded}"),
        Cell(text=str(scenario.drift_at) if scenario.graded else words.MISSING),
        Cell(text=percent_words(scenario.null_rate) if scenario.graded else words.MISSING),
        Cell(text=path),
        Cell(text=str(scenario.could_not_run + scenario.ungraded)),
    )


def _sections(night: Night, comparison_file: str | None, diff_pages: Mapping[str, str]) -> Iterator[Section]:
    if night.scenarios:
        rate = percent_words(night.reference_fail_rate or 0.0)
        intro = f"{plural(night.runs_per_scenario or 0, 'live run')} of each scenario, against a reference fail rate of {rate}."
        where = ("A scenario's name opens the diff of its recording and its newest live run.",) if diff_pages and comparison_file else ()
        yield Section(key="scenarios", title="Scenarios", intro=intro, table=scenario_table(night, diff_pages), notes=where)


def _facts(night: Night) -> Iterator[Fact]:
    yield Fact(label="State", value=STATE_WORDS[night.state])
    yield Fact(label="Due", value=f"{night.slot.at:%Y-%m-%d %H:%M} UTC")
    yield Fact(label="Source", value=night.source)
    yield Fact(label="Alert", value="none: the standing did not change" if night.alert is None else KIND_WORDS[night.alert.kind])
    cost_label = "Cost" if night.attempt == 1 else "Cost of the last attempt"  # what an earlier one took died with it
    yield Fact(label=cost_label, value=cost_words(night.cost, is_pending=night.state == "pending"))
    if night.replay_batch is not None:
        yield Fact(label="Replay leg", value=night.replay_batch)
    if night.live_batch is not None:
        yield Fact(label="Live leg", value=night.live_batch)
    if night.attempt > 1:
        yield Fact(label="Attempt", value=str(night.attempt))


def _notices(night: Night) -> Iterator[Notice]:
    if night.reason is not None:
        detail = "" if night.detail is None else f" ({night.detail.rstrip('.')})"
        yield Notice(level="problem", text=f"The check failed: {REASON_WORDS[night.reason]}{detail}. That is not the same as clean.")
    for scenario in night.dead_sensors:
        assert scenario.dead is not None  # that is what dead_sensors are
        detail = f": {scenario.dead.detail}" if scenario.dead.detail else ""
        name = with_visible_spaces(scenario.scenario_id)
        yield Notice(level="caution", text=f"{name} was not watched: {DEAD_WORDS[scenario.dead.kind]}{detail}")
    if night.not_watched:
        yield Notice(level="note", text=f"Not watched, having no assertion: {', '.join(map(with_visible_spaces, night.not_watched))}.")
