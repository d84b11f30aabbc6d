"""Computes again what a night saw, from the stored batches of its two legs, and says whether that is what is stored of it."""

from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.kernel.values import Value
from evalplatform.runs.night import Night, WatchedScenario
from evalplatform.runs.tolerance import PathTolerance
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_scenarios import LegRuns, dead_of_replay, leg_runs, watched_scenarios


class RecomputedNight(Value):
    """A night computed again.

    Attributes:
        night: as it is stored.
        scenarios: what its batches say of each scenario, by id. A sensor that was dead before anything was replayed left nothing in a
            batch; what is stored of it is taken over.
        differing: the ids of scenarios of which something else is stored, or nothing, or of which only the store knows.
    """

    night: Night
    scenarios: tuple[WatchedScenario, ...]
    differing: tuple[str, ...]


def recomputed_night(context: MonitoringContext, night_key: str) -> RecomputedNight:
    """Return a night computed again; nothing is asked and nothing written.

    Raises:
        UnknownNameError: there is no such night.
        InputError: it saw nothing, or a batch was compacted or has expired, so that its run sets are whole no more.
        StorageError: a store cannot be read.
    """
    night = context.store.night(night_key)
    if night is None:
        raise UnknownNameError("night", night_key, (known.key for known in context.store.nights(limit=1_000)))
    if not night.scenarios or night.reference_fail_rate is None:
        raise InputError(f"the night {night.key} saw no scenario: there is nothing to compute again.")
    scenarios = _scenarios(context, night, night.reference_fail_rate)
    stored = {scenario.scenario_id: scenario for scenario in night.scenarios}
    found = {scenario.scenario_id: scenario for scenario in scenarios}
    differing = tuple(sorted(name for name in stored.keys() | found.keys() if stored.get(name) != found.get(name)))
    return RecomputedNight(night=night, scenarios=scenarios, differing=differing)


def _scenarios(context: MonitoringContext, night: Night, fail_rate: float) -> tuple[WatchedScenario, ...]:
    replay: LegRuns = {} if night.replay_batch is None else _whole_runs(context, night.replay_batch)
    stored = {one.scenario_id: one.dead for one in night.dead_sensors if one.dead is not None and one.scenario_id not in replay}
    live: LegRuns = {}
    tolerances: dict[str, PathTolerance] = {}
    if night.live_batch is not None:
        live = _whole_runs(context, night.live_batch)
        declared = context.runs.batches.batch(night.live_batch).header.scenarios
        tolerances = {scenario_id: declared[scenario_id].applied_tolerance for scenario_id in live}
    return watched_scenarios(tolerances, replay=replay, live=live, fail_rate=fail_rate, dead={**stored, **dead_of_replay(replay)})


def _whole_runs(context: MonitoringContext, batch_id: str) -> LegRuns:
    batch = context.runs.batches.batch(batch_id)
    if batch.retention != "whole":
        raise InputError(f"the batch {batch_id} is {batch.retention}, so that its run sets are whole no more.")
    return leg_runs(context.runs.batches.runs(batch_id), batch.header.scenarios)
