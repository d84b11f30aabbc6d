"""An alert as a mail: what changed, in which project, for which scenarios, and where to look. Never what an agent said or did."""

from collections.abc import Iterator, Sequence

from evalplatform.kernel.text import clip, plural
from evalplatform.reports.sentinel_words import DEAD_WORDS
from evalplatform.reports.visible import one_line, with_visible_spaces
from evalplatform.runs.night import SENTINEL, AlertKind, Night, NightReason, NightState, WatchedScenario

MAX_SHOWN_SCENARIOS = 50
MAX_NAME_CHARS = 200
KIND_WORDS: dict[AlertKind, str] = {"drift_detected": "drift detected", "recovered": "recovered", "monitor_failed": "check failed"}
STANDING_WORDS: dict[NightState, str] = {
    "pending": "pending",
    "checked_clean": "checked, clean",
    "checked_flagged": "checked, flagged",
    "check_failed": "check failed",
}
REASON_WORDS: dict[NightReason, str] = {
    "missed_slot": "the check did not run to its end when it was due",
    "endpoint_unreachable": "the agent could not be reached, or could not be run",
    "baseline_not_pinned": "a pinned run is not what it was when it was pinned",
    "dead_sensor": "a scenario cannot be watched: what it is held to is gone, or no longer passes",
    "allowance_exceeded": "more scenarios are monitored than the tenant is granted",
    "credential_unreadable": "the stored Authorization value cannot be read",
    "budget": "it came to its limit of time or spend before it was through",
}


def alert_subject(night: Night, *, project: str) -> str:
    """Return the subject of a night's mail, on one line."""
    assert night.alert is not None  # what is told has an alert
    return one_line(f"[evalplatform] {project}: {KIND_WORDS[night.alert.kind]} ({night.stream})")


def alert_text(night: Night, affected: Sequence[WatchedScenario], *, project: str, link: str | None) -> str:
    """Return the text of a night's mail.

    Args:
        night: with an alert.
        affected: the scenarios that it is about; a mail names the first 50.
        project: whose.
        link: where a person reads the night's report, with its comparison; None where there is none.
    """
    stream = "the sentinel" if night.source == SENTINEL else f"schedule {night.stream}"
    lines = [
        _headline(night),
        "",
        f"Project:  {one_line(project)}",
        f"Check:    {one_line(stream)}",
        f"Standing: {STANDING_WORDS[night.state]}{'' if night.reason is None else f' ({night.reason})'}",
        f"Due:      {night.slot.at:%Y-%m-%d %H:%M} UTC ({night.slot.local_date.isoformat()} on its own clock)",
        *_scenario_lines(affected, is_flagged=night.state == "checked_flagged"),
    ]
    if link is not None:
        lines += ["", f"Report: {link}"]
    if night.replay_batch is not None and night.live_batch is not None:
        lines += ["", f"Compare its legs: evalplatform diff {night.replay_batch} {night.live_batch}"]
    return "\n".join([*lines, ""])


def _headline(night: Night) -> str:
    assert night.alert is not None  # what is told has an alert
    watched = plural(len(night.scenarios), "watched scenario")
    if night.alert.kind == "drift_detected":
        return f"Drift: {len(night.drifted):,} of {watched} drifted."
    if night.alert.kind == "recovered":
        return f"Recovered: none of {watched} drifts any more."
    why = "" if night.reason is None else f": {REASON_WORDS[night.reason]}"
    return f"The check failed{why}. It says nothing about the agent."


def _scenario_lines(affected: Sequence[WatchedScenario], *, is_flagged: bool) -> Iterator[str]:
    if not affected:
        return
    yield from ("", "Scenarios:")
    for scenario in affected[:MAX_SHOWN_SCENARIOS]:
        yield f"- {one_line(with_visible_spaces(clip(scenario.scenario_id, MAX_NAME_CHARS)))}: {_what(scenario, is_flagged=is_flagged)}"
    if len(affected) > MAX_SHOWN_SCENARIOS:
        yield f"- and {len(affected) - MAX_SHOWN_SCENARIOS:,} more"


def _what(scenario: WatchedScenario, *, is_flagged: bool) -> str:
    if scenario.dead is not None:
        return f"not watched, {DEAD_WORDS[scenario.dead.kind]}"
    if not scenario.drifted:
        return "no drift any more"
    if scenario.is_unseen:
        return f"no live run of it could be graded{', which counts as drift' if is_flagged else ''}"
    found = []
    if scenario.verdict_drifted:
        found.append(f"{scenario.failed:,} of {plural(scenario.graded, 'graded live run')} failed")
    if scenario.path_drifted:
        found.append(f"{scenario.path_differing:,} of {plural(scenario.path_graded, 'live run')} took another tool path")
    return "; ".join(found)
