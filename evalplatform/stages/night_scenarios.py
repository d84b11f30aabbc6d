"""What a night saw of its scenarios, read from the runs of its two legs: as they were just recorded, or as their batches are stored."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from evalplatform.drift.sentinel import dead_scenario, watched_scenario
from evalplatform.kernel.text import plural
from evalplatform.runs.night import DeadSensor, WatchedScenario
from evalplatform.runs.records import Run
from evalplatform.runs.tolerance import PathTolerance

LegRuns = Mapping[str, tuple[Run, ...]]
"""The runs of a leg by scenario; a scenario of which none was made has none."""


def leg_runs(runs: Iterable[Run], scenario_ids: Iterable[str]) -> LegRuns:
    """Return runs by scenario, those without a run included."""
    found: dict[str, tuple[Run, ...]] = dict.fromkeys(scenario_ids, ())
    for run in runs:
        found[run.scenario_id] = (*found.get(run.scenario_id, ()), run)
    return found


def dead_of_replay(replayed: LegRuns) -> dict[str, DeadSensor]:
    """Return why scenarios cannot be watched whose replay no longer passes, by id."""
    return dict(_dead(replayed))


def watched_scenarios(
    tolerances: Mapping[str, PathTolerance], *, replay: LegRuns, live: LegRuns, fail_rate: float, dead: Mapping[str, DeadSensor]
) -> tuple[WatchedScenario, ...]:
    """Return what a night saw, by scenario id.

    Args:
        tolerances: how far its path may differ, of every scenario whose live leg was to run.
        replay, live: the runs of both legs; a scenario that is in neither was not seen.
        fail_rate: the reference rate.
        dead: why the other scenarios could not be watched.
    """
    seen = [dead_scenario(scenario_id, why) for scenario_id, why in dead.items()]
    seen += [
        watched_scenario(
            scenario_id,
            live.get(scenario_id, ()),
            baseline=next(iter(replay.get(scenario_id, ())), None),
            tolerance=tolerance,
            fail_rate=fail_rate,
        )
        for scenario_id, tolerance in tolerances.items()
    ]
    return tuple(sorted(seen, key=lambda one: one.scenario_id))


def dead_words(scenario_ids: Collection[str]) -> str:
    """Return a sentence that names the scenarios which could not be watched."""
    return f"{plural(len(scenario_ids), 'scenario')} could not be watched: {', '.join(sorted(scenario_ids))}."


def _dead(replayed: LegRuns) -> Iterator[tuple[str, DeadSensor]]:
    for scenario_id, runs in replayed.items():
        run = runs[-1] if runs else None
        if run is None or run.outcome == "harness_error":
            yield scenario_id, DeadSensor(kind="cannot_be_replayed", detail="" if run is None else run.reason or "")
        elif run.verdict != "passed":
            yield scenario_id, DeadSensor(kind="no_longer_passes", detail=run.reason or run.outcome)
