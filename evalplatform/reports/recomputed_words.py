"""A night that was computed again, as lines of text and as JSON: whether its batches say what is stored of it."""

from collections.abc import Iterator
from typing import Any

from evalplatform.kernel.text import plural
from evalplatform.monitoring.trend import mark_of
from evalplatform.reports.drift_plot import MARK_WORDS
from evalplatform.reports.visible import one_line, with_visible_spaces
from evalplatform.runs.night import Night, WatchedScenario


def recomputed_lines(night: Night, recomputed: tuple[WatchedScenario, ...], differing: tuple[str, ...]) -> Iterator[str]:
    """Yield what was found, and for each scenario that differs both readings.

    Args:
        night: as it is stored.
        recomputed: what its batches say of each scenario.
        differing: the ids of the scenarios that differ.
    """
    computed = f"{plural(len(recomputed), 'scenario')} of {night.key} computed again from its batches"
    yield f"{computed}: {f'{len(differing):,} not as stored' if differing else 'as stored'}."
    stored = {scenario.scenario_id: scenario for scenario in night.scenarios}
    found = {scenario.scenario_id: scenario for scenario in recomputed}
    for name in differing:
        was, is_now = (_scenario_words(side.get(name)) for side in (stored, found))
        yield f"  - {one_line(f'{with_visible_spaces(name)}: stored {was}; its batches say {is_now}')}"


def recomputed_json(night: Night, recomputed: tuple[WatchedScenario, ...], differing: tuple[str, ...]) -> dict[str, Any]:
    """Return the same as JSON."""
    return {
        "night": night.key,
        "agrees": not differing,
        "differing": list(differing),
        "stored": [scenario.model_dump(mode="json") for scenario in night.scenarios],
        "recomputed": [scenario.model_dump(mode="json") for scenario in recomputed],
    }


def _scenario_words(scenario: WatchedScenario | None) -> str:
    if scenario is None:
        return "nothing"
    failed = f"{scenario.failed} of {scenario.graded} failed"
    paths = f", {scenario.path_differing} of {scenario.path_graded} paths differ" if scenario.path_graded else ""
    return f"{MARK_WORDS[mark_of(scenario)]} ({failed}{paths})"
