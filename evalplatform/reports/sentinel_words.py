"""What a night saw, as lines of text and as JSON."""

from collections.abc import Iterator
from typing import Any

from evalplatform.kernel.text import plural
from evalplatform.reports.visible import one_line, with_visible_spaces
from evalplatform.runs.night import Night, WatchedScenario

SMALLEST_PERCENT = 0.01
DEAD_WORDS = {
    "pin_gone": "its pinned run is gone",
    "not_what_was_pinned": "its pinned run is not what it was when it was pinned",
    "no_longer_passes": "what it stands on no longer passes",
    "not_in_scenario_file": "the scenario file has it no more",
    "cannot_be_replayed": "its recording cannot be replayed",
}


def night_sentence(night: Night) -> str:
    """Return how a night came out, in a sentence; a check that failed never reads as clean."""
    watched = plural(len(night.scenarios), "scenario")
    if night.state == "pending":
        return "The check is under way."
    if night.state == "check_failed":
        why = "" if night.detail is None else f": {night.detail.rstrip('.')}"
        return f"The check failed ({night.reason}){why}."
    if night.state == "checked_flagged":
        return f"Drift: {len(night.drifted):,} of {watched} drifted."
    return f"No drift: {watched} checked."


def sentinel_lines(night: Night) -> Iterator[str]:
    """Yield a night for a terminal: the answer, a line for each scenario with the rule it was judged by, and where to look further."""
    yield one_line(night_sentence(night))
    alive = [scenario for scenario in night.scenarios if scenario.dead is None]
    if alive:
        yield ""
        yield (
            f"Live run sets ({plural(night.runs_per_scenario or 0, 'live run')} per scenario, reference fail rate "
            f"{percent_words(night.reference_fail_rate or 0.0)}):"
        )
        for scenario in alive:
            yield from _scenario_lines(scenario, night.reference_fail_rate or 0.0)
    if night.dead_sensors:
        yield ""
        yield "Dead sensors (their live runs were not made):"
        for scenario in night.dead_sensors:
            assert scenario.dead is not None  # that is what dead_sensors are
            detail = f": {scenario.dead.detail}" if scenario.dead.detail else ""
            yield f"  - {one_line(f'{with_visible_spaces(scenario.scenario_id)}: {DEAD_WORDS[scenario.dead.kind]}{detail}')}"
    if night.not_watched:
        yield ""
        yield one_line(f"Not watched, having no assertion: {', '.join(map(with_visible_spaces, night.not_watched))}.")
    yield from _further(night)


def night_json(night: Night) -> dict[str, Any]:
    """Return a night as JSON, with what follows from its fields: its key, its sentence, and which scenarios drifted."""
    shown = night.model_dump(mode="json")
    is_flagged = night.state == "checked_flagged"
    for fields, scenario in zip(shown["scenarios"], night.scenarios, strict=True):
        fields |= {"verdict_drifted": is_flagged and scenario.verdict_drifted, "path_drifted": is_flagged and scenario.path_drifted}
    if shown["alert"] is not None and night.alert is not None:
        shown["alert"] |= {"state": night.alert.state, "attempts": night.alert.attempts}
    shown["slot"]["id"] = night.slot.id
    return {"key": night.key, "sentence": night_sentence(night), **shown}


def percent_words(rate: float) -> str:
    """Return a rate as a percentage of at most two decimals; below a hundredth of one it says so."""
    percent = 100 * rate
    if 0 < percent < SMALLEST_PERCENT:
        return "less than 0.01%"
    return f"{percent:.2f}".rstrip("0").rstrip(".") + "%"


def _scenario_lines(scenario: WatchedScenario, fail_rate: float) -> Iterator[str]:
    name = one_line(with_visible_spaces(scenario.scenario_id))
    left_out = _not_graded(scenario)
    if scenario.graded == 0:
        yield f"  - {name}  no graded live run: drift, since nothing was seen{left_out}"
        return
    failed = f"{scenario.failed} of {plural(scenario.graded, 'graded live run')} failed"
    rule = _rule(scenario.verdict_drifted, scenario.drift_at, scenario.graded, scenario.null_rate, fail_rate)
    yield f"  - {name}  {failed}: {rule}{left_out}"
    if scenario.path_drift_at is None or scenario.path_null_rate is None:
        if not scenario.replay_path:
            yield "      tool path not watched: it has no recording to compare with"
    elif scenario.path_differing:
        differing = f"tool path differs in {scenario.path_differing} of {scenario.path_graded}"
        rule = _rule(scenario.path_drifted, scenario.path_drift_at, scenario.path_graded, scenario.path_null_rate, fail_rate)
        yield f"      {differing}: {rule}"


def _rule(drifted: bool, drift_at: int, graded: int, null_rate: float, fail_rate: float) -> str:
    if not drifted:
        return f"no drift (drifts at {drift_at})"
    by_chance = f"one that does so {percent_words(fail_rate)} of the time gets there on {percent_words(null_rate)} of nights"
    return f"drift (drifts at {drift_at} of {graded}; {by_chance})"


def _not_graded(scenario: WatchedScenario) -> str:
    parts = []
    if scenario.could_not_run:
        parts.append(f"{scenario.could_not_run} could not run (harness)")
    if scenario.ungraded:
        parts.append(f"{scenario.ungraded} stopped or not made")
    return f"; not graded: {', '.join(parts)}" if parts else ""


def _further(night: Night) -> Iterator[str]:
    if night.replay_batch is not None and night.live_batch is not None:
        yield ""
        yield f"replay leg {night.replay_batch}, live leg {night.live_batch}"
        if night.drifted:
            yield f"`evalplatform diff {night.replay_batch} {night.live_batch}` shows where they part."
    elif night.live_batch is not None:
        yield ""
        yield f"live leg {night.live_batch}; no scenario has a recording, so that tool paths are not watched"
