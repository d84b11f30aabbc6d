"""Drift history as a page, as lines for a terminal, and as JSON: trends, alarms beside what was promised, what stands."""

from collections.abc import Iterator, Sequence
from typing import Any

from evalplatform.kernel.text import ELLIPSIS, plural
from evalplatform.monitoring.trend import DriftHistory, QuietRate, ScenarioTrend, StreamStanding
from evalplatform.reports import words
from evalplatform.reports.alert_words import REASON_WORDS
from evalplatform.reports.drift_plot import LETTERS, MARK_WORDS, drift_plot
from evalplatform.reports.night_page import STATE_WORDS, alert_state_words, cost_words
from evalplatform.reports.page import Page
from evalplatform.reports.sentinel_words import percent_words
from evalplatform.reports.view import Cell, Column, Fact, Figure, Notice, Section, Table
from evalplatform.reports.visible import one_line, with_visible_spaces
from evalplatform.runs.night import Night

SCHEMA_VERSION = 1
SHOWN_MARKS = 40
PLOT_CAPTION = "Each tile is a night, oldest first; as many of the newest as fit, between the dates beside the name."
QUIET_LETTER = "·"
_TREND_COLUMNS = (
    Column(label="Scenario", numeric=False),
    Column(label="Stream", numeric=False),
    Column(label="Nights", numeric=False, meaning=f"Oldest first, the newest {SHOWN_MARKS}; a dot is a quiet night."),
    Column(label="Drifted", meaning="Nights with drift, of those on which it was seen."),
)
_RATE_COLUMNS = (
    Column(label="Alarm", numeric=False),
    Column(label="Checks"),
    Column(label="Alarms"),
    Column(label="Measured", meaning="Alarms among checks, with the exact 95% interval."),
    Column(label="Promised", meaning="The mean of the chances that the rule stated, at the reference fail rate."),
    Column(label="Reading", numeric=False),
)
_STANDING_COLUMNS = (
    Column(label="Stream", numeric=False),
    Column(label="Standing", numeric=False),
    Column(label="Since", numeric=False),
    Column(label="Last checked", numeric=False),
    Column(label="Last alert", numeric=False),
)
_NIGHT_COLUMNS = ("Slot (UTC)", "Stream", "State", "Drifted", "Alert", "Cost")
_READINGS = {
    "no_checks": "nothing was checked",
    "as_promised": "as promised",
    "more_than_promised": "more than promised (what drift looks like, or a reference rate below the true one)",
    "fewer_than_promised": "fewer than promised (scenarios fail less often than the reference rate)",
}


def history_sentence(history: DriftHistory) -> str:
    """Return what was found, in a sentence; without a night that is said, and is not the same as quiet."""
    if not history.night_count:
        return "No night is recorded."
    drifted = sum(trend.drifted > 0 for trend in history.trends)
    of_scenarios = f"{drifted:,} of {plural(len(history.trends), 'scenario')} drifted at least once"
    failed = history.nights.get("check_failed", 0)
    not_checked = f"; {plural(failed, 'check')} failed" if failed else ""
    if not history.trends:
        return f"No scenario was seen over {plural(history.night_count, 'night')}{not_checked}."
    return f"{of_scenarios} over {plural(history.night_count, 'night')}{not_checked}."


def history_page(history: DriftHistory, standings: Sequence[StreamStanding]) -> Page:
    """Return the report as a page."""
    plot = drift_plot(history.trends)
    figures = (
        []
        if plot is None
        else [
            Figure(
                title="Nights",
                caption=PLOT_CAPTION,
                plot=plot,
            )
        ]
    )
    sections = [
        Section(key="standings", title="What stands", table=standings_table(standings)),
        Section(key="trends", title="Scenarios", table=trend_table(history.trends)),
        Section(key="rates", title="Alarms, measured and promised", table=rate_table(history), notes=(RATE_NOTE,)),
    ]
    return Page(
        kind="Drift history",
        title="Drift history",
        subtitle=history_sentence(history),
        headline_facts=tuple(_facts(history)),
        notices=tuple(_notices(history)),
        figures=tuple(figures),
        sections=tuple(section for section in sections if section.table.rows),
    )


RATE_NOTE = (
    "A scenario that fails exactly at the reference rate is flagged as often as promised; one that fails less often is flagged less. "
    "Scenarios at nights of which no live run was graded are flagged by another rule, and are not counted here. "
    "The interval takes the checks as independent; scenarios of one night share the agent's day, so alarms come in clumps."
)


def history_lines(history: DriftHistory, standings: Sequence[StreamStanding]) -> Iterator[str]:
    """Yield the report for a terminal."""
    yield history_sentence(history)
    for standing in standings:
        yield f"  {one_line(standing_sentence(standing))}"
    for trend in history.trends:
        yield one_line(
            f"{with_visible_spaces(trend.scenario_id)} ({trend.stream})  {marks(trend)}  {trend.drifted}/{trend.checked} drifted"
        )
    used = {mark.mark for trend in history.trends for mark in trend.marks[-SHOWN_MARKS:]}
    keys = [f"{letter} {MARK_WORDS[mark]}" for mark, letter in LETTERS.items() if letter and mark in used]
    if keys:
        yield f"({QUIET_LETTER} quiet, {', '.join(keys)})"
    for name, rate in (("failures", history.verdict_rate), ("tool paths", history.path_rate)):
        if rate.checks:
            yield f"alarms by {name}: {rate_words(rate)}"
    yield from (notice.text for notice in _notices(history))


def history_json(history: DriftHistory, standings: Sequence[StreamStanding]) -> dict[str, Any]:
    """Return the report as JSON, unrounded; of each trend one letter a night, oldest first. The table of marks says more of each."""
    shown = history.model_dump(mode="json", exclude={"trends"})
    for name, rate in (("verdict_rate", history.verdict_rate), ("path_rate", history.path_rate)):
        shown[name] |= {"measured_rate": rate.measured_rate, "reading": rate.reading}
    return {
        "schema_version": SCHEMA_VERSION,
        "sentence": history_sentence(history),
        "standings": [standing_json(standing) for standing in standings],
        **shown,
        "mark_words": {LETTERS[mark] or QUIET_LETTER: meaning for mark, meaning in MARK_WORDS.items()},
        "trends": [_trend_json(trend) for trend in history.trends],
    }


def standing_json(standing: StreamStanding) -> dict[str, Any]:
    """Return a standing as JSON; of its alert the kind and whether it arrived, not to whom."""
    alert = None if standing.alert is None else {"kind": standing.alert.kind, "state": standing.alert.state}
    return {"sentence": standing_sentence(standing), **standing.model_dump(mode="json", exclude={"alert"}), "alert": alert}


def standing_sentence(standing: StreamStanding) -> str:
    """Return what stands in a stream; a failed check says what was last checked behind it."""
    now = standing.standing.now
    if now is None:
        return f"{standing.stream}: no night has ended yet."
    text = f"{standing.stream}: {STATE_WORDS[now]} since {_since_words(standing)}"
    if now == "check_failed":
        last = standing.standing.last_checked
        behind = "nothing was ever checked" if last is None else f"last checked: {STATE_WORDS[last]}"
        why = "" if standing.reason is None else f" ({REASON_WORDS[standing.reason]})"
        text = f"{text}{why}; {behind}"
    return f"{text}{'; a night is under way' if standing.pending else ''}."


def marks(trend: ScenarioTrend) -> str:
    """Return one letter a night, oldest first, a dot for a quiet one; where only the newest are shown, an ellipsis stands before them."""
    letters = _letters(trend)
    return letters if len(letters) <= SHOWN_MARKS else ELLIPSIS + letters[-SHOWN_MARKS:]


def rate_words(rate: QuietRate) -> str:
    """Return a measured alarm rate beside the promised one."""
    if rate.measured_rate is None or rate.promised_rate is None or rate.ci_lo is None or rate.ci_hi is None:
        return _READINGS["no_checks"]
    interval = f"[{percent_words(rate.ci_lo)}, {percent_words(rate.ci_hi)}]"
    measured = f"{rate.alarms:,} of {plural(rate.checks, 'check')}, {percent_words(rate.measured_rate)} {interval}"
    return f"{measured}; promised {percent_words(rate.promised_rate)}: {_READINGS[rate.reading]}"


def standings_table(standings: Sequence[StreamStanding]) -> Table:
    """Return a row a stream."""
    return Table(columns=_STANDING_COLUMNS, rows=tuple(map(_standing_row, standings)))


def trend_table(trends: Sequence[ScenarioTrend]) -> Table:
    """Return a row a scenario of a stream."""
    rows = (
        (
            Cell(text=with_visible_spaces(trend.scenario_id)),
            Cell(text=trend.stream),
            Cell(text=_letters(trend)[-SHOWN_MARKS:]),
            Cell(text=f"{trend.drifted}/{trend.checked}", tone="worse" if trend.drifted else "plain"),
        )
        for trend in trends
    )
    return Table(columns=_TREND_COLUMNS, rows=tuple(rows))


def rate_table(history: DriftHistory) -> Table:
    """Return the alarms by failures and by tool paths, measured and promised; rows only where something was checked."""
    named = (("Failures", history.verdict_rate), ("Tool paths", history.path_rate))
    return Table(columns=_RATE_COLUMNS, rows=tuple(_rate_row(name, rate) for name, rate in named if rate.checks))


def night_rows(nights: Sequence[Night]) -> Iterator[tuple[str, ...]]:
    """Yield the head of a table of nights, and a row for each."""
    yield _NIGHT_COLUMNS
    for night in nights:
        state = STATE_WORDS[night.state] if night.reason is None else f"{STATE_WORDS[night.state]} ({night.reason})"
        drifted = str(len(night.drifted)) if night.is_checked else words.MISSING
        alert = words.MISSING if night.alert is None and night.state != "pending" else alert_state_words(night.alert)
        if night.state == "pending":
            alert = "pending"
        cost = cost_words(night.cost, is_pending=night.state == "pending")
        yield f"{night.slot.at:%Y-%m-%d %H:%M}", night.stream, state, drifted, one_line(alert), cost


def _facts(history: DriftHistory) -> Iterator[Fact]:
    yield Fact(label="Window", value=f"{history.since:%Y-%m-%d} to {history.until:%Y-%m-%d}")
    states = ("checked_clean", "checked_flagged", "check_failed", "pending")
    found = [f"{history.nights[state]:,} {STATE_WORDS[state]}" for state in states if history.nights.get(state)]  # type: ignore[index]
    yield Fact(label="Nights", value=", ".join(found) or "none")


def _notices(history: DriftHistory) -> Iterator[Notice]:
    for reason, number in sorted(history.reasons.items()):
        yield Notice(level="caution", text=f"{plural(number, 'check')} failed ({reason}): {REASON_WORDS[reason]}.")
    if history.truncated:
        yield Notice(level="note", text=f"Only the newest {history.night_count:,} nights of the window are read.")


def _letters(trend: ScenarioTrend) -> str:
    return "".join(LETTERS[mark.mark] or QUIET_LETTER for mark in trend.marks)


def _trend_json(trend: ScenarioTrend) -> dict[str, Any]:
    counts = {"checked": trend.checked, "drifted": trend.drifted}
    return {"stream": trend.stream, "scenario_id": trend.scenario_id, **counts, "marks": _letters(trend)}


def _since_words(standing: StreamStanding) -> str:
    if standing.since is None:
        return words.MISSING
    return f"{standing.since.at:%Y-%m-%d %H:%M} UTC{' or before' if standing.held_before else ''}"


def _standing_row(standing: StreamStanding) -> tuple[Cell, ...]:
    now = standing.standing.now
    return (
        Cell(text=standing.stream),
        Cell(text=words.MISSING if now is None else STATE_WORDS[now], tone="plain" if now == "checked_clean" else "caution"),
        Cell(text=_since_words(standing)),
        Cell(text=standing.last_checked or "never"),
        Cell(text="none" if standing.alert is None else alert_state_words(standing.alert)),
    )


def _rate_row(name: str, rate: QuietRate) -> tuple[Cell, ...]:
    interval = f"[{percent_words(rate.ci_lo or 0.0)}, {percent_words(rate.ci_hi or 0.0)}]"
    return (
        Cell(text=name),
        Cell(text=f"{rate.checks:,}"),
        Cell(text=f"{rate.alarms:,}"),
        Cell(text=f"{percent_words(rate.measured_rate or 0.0)} {interval}"),
        Cell(text=percent_words(rate.promised_rate or 0.0)),
        Cell(text=_READINGS[rate.reading], tone="caution" if rate.reading == "more_than_promised" else "plain"),
    )
