"""An alert as a mail: what changed, in which project, for which scenarios, and where to look. Never what an agent said or did."""

from evalplatform.kernel.text import plural
from evalplatform.monitoring.alerts import affected_scenarios
from evalplatform.reports.visible import one_line
from evalplatform.runs.night import AlertKind, Night, NightReason

MAX_SHOWN_SCENARIOS = 50
KIND_WORDS: dict[AlertKind, str] = {"drift_detected": "drift detected", "recovered": "recovered", "monitor_failed": "check failed"}
REASON_WORDS: dict[NightReason, str] = {
    "missed_slot": "the check did not run when it was due",
    "endpoint_unreachable": "the agent's endpoint could not be reached",
    "baseline_not_pinned": "a pinned run is not what it was when it was pinned",
    "dead_sensor": "a scenario cannot be watched: its pinned run or recording no longer passes, or is gone",
    "allowance_exceeded": "more scenarios are monitored than the tenant is granted",
    "credential_unreadable": "the stored Authorization value cannot be read",
    "budget": "the check came to its limit of time or spend before it was through",
}


def alert_subject(night: Night, *, project: str) -> str:
    """Return the subject of a night's mail, on one line."""
    assert night.alert is not None  # what is told has an alert
    return one_line(f"[evalplatform] {project}: {KIND_WORDS[night.alert.kind]} ({night.stream})")


def alert_text(night: Night, *, project: str, link: str) -> str:
    """Return the text of a night's mail."""
    lines = [
        one_line(_headline(night)),
        "",
        one_line(f"Project: {project}"),
        one_line(f"Schedule: {night.stream}"),
        f"Due: {night.slot.at:%Y-%m-%d %H:%M} UTC",
    ]
    scenarios = affected_scenarios(night)
    if scenarios:
        lines += ["", "Scenarios:", *(one_line(f"  {name}") for name in scenarios[:MAX_SHOWN_SCENARIOS])]
        if len(scenarios) > MAX_SHOWN_SCENARIOS:
            lines.append(f"  and {len(scenarios) - MAX_SHOWN_SCENARIOS} more")
    return "\n".join([*lines, "", link, ""])


def _headline(night: Night) -> str:
    assert night.alert is not None  # what is told has an alert
    if night.alert.kind == "drift_detected":
        return f"{len(night.drifted):,} of {plural(len(night.scenarios), 'watched scenario')} drifted."
    if night.alert.kind == "recovered":
        return f"No drift any more: all {plural(len(night.scenarios), 'watched scenario')} checked."
    return f"The check failed: {REASON_WORDS[night.reason] if night.reason is not None else 'the reason is not known'}."
