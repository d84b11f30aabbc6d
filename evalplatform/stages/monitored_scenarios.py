"""Which scenarios can be monitored, with their newest passing runs to pin, and why the others cannot be."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Literal, NamedTuple

from evalplatform.artifacts.blobs import get_blob
from evalplatform.judging.structural import grade_structurally
from evalplatform.kernel.errors import MonitoringError, ObjectNotFoundError, UnknownNameError
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.assertions.assertion import RunFacts
from evalplatform.runs.records import Batch, Run
from evalplatform.runs.scenario import Scenario
from evalplatform.runs.schedule import Pin
from evalplatform.runs.trajectory import Trajectory
from evalplatform.stages.runs_context import RunsContext

MOST_BATCHES = 200
"""Runs to pin are looked for in so many of the newest batches that are kept; legs of nights are not among them."""
SHOWN_RUNS = 3

Reason = Literal["no_assertion_set", "no_passing_run"]


class PassingRun(NamedTuple):
    """A run that can be pinned."""

    batch_id: str
    run_id: str
    created_at: datetime
    trajectory_digest: str
    commit: str | None


class MonitorableScenario(NamedTuple):
    """A scenario of the scenario file: its newest passing runs, or why it cannot be monitored."""

    scenario_id: str
    runs: tuple[PassingRun, ...]
    reason: Reason | None


def monitorable_scenarios(context: RunsContext, scenario_set: ScenarioSet) -> list[MonitorableScenario]:
    """Return every scenario of the file, in its order. Raises StorageUnavailableError where the batch store does not answer."""
    asserted = {scenario.id for scenario in scenario_set.scenarios if scenario.assertions}
    found: dict[str, list[PassingRun]] = {scenario_id: [] for scenario_id in asserted}
    for passing in passing_runs(context):
        of_scenario = found.get(passing.scenario_id)
        if of_scenario is not None and len(of_scenario) < SHOWN_RUNS:
            of_scenario.append(passing.run)
        if all(len(runs) >= SHOWN_RUNS for runs in found.values()):
            break
    return [_monitorable(scenario, found) for scenario in scenario_set.scenarios]


class FoundRun(NamedTuple):
    """A passing run, and whose it is."""

    scenario_id: str
    run: PassingRun


def passing_runs(context: RunsContext) -> Iterator[FoundRun]:
    """Iterate over the runs that can be pinned, of the newest batches first, within a batch by scenario and then the newest first."""
    kept = (batch for batch in context.batches.batches() if batch.retention != "expired" and not batch.is_leg)
    for batch in islice(kept, MOST_BATCHES):
        runs = [run for run in context.batches.runs(batch.id) if run.verdict == "passed" and run.trajectory_digest is not None]
        for run in sorted(runs, key=lambda run: (run.scenario_id, -run.order)):
            yield FoundRun(run.scenario_id, _passing(batch, run))


def pins_of(context: RunsContext, scenario_set: ScenarioSet, wanted: Mapping[str, str]) -> tuple[Pin, ...]:
    """Return the pins of scenarios to runs, each looked at: it passed, and its trajectory still passes what the file asserts today.

    Args:
        context: the agent side of the project.
        scenario_set: the scenario file.
        wanted: run ids by scenario id; `BATCH/RUN` where the batch is named as well.

    Raises:
        UnknownNameError: the file has no such scenario.
        MonitoringError: no_assertion_set, no_passing_run or baseline_not_pinned, at `pins.SCENARIO`.
    """
    return tuple(_pin(context, scenario_set.scenario(scenario_id), named) for scenario_id, named in sorted(wanted.items()))


def _monitorable(scenario: Scenario, found: Mapping[str, list[PassingRun]]) -> MonitorableScenario:
    if not scenario.assertions:
        return MonitorableScenario(scenario.id, (), "no_assertion_set")
    runs = tuple(found[scenario.id])
    return MonitorableScenario(scenario.id, runs, None if runs else "no_passing_run")


def _pin(context: RunsContext, scenario: Scenario, named: str) -> Pin:
    field = f"pins.{scenario.id}"
    if not scenario.assertions:
        raise MonitoringError("no_assertion_set", f"{scenario.id!r} has no assertion, so that nothing could be checked.", field=field)
    batch_id, _, run_id = named.rpartition("/")
    found = _in_batch(context, scenario, batch_id, run_id) if batch_id else _anywhere(context, scenario, run_id)
    if found is None:
        rule = f"{named!r} is no passing run of {scenario.id!r} that is kept; `monitor scenarios` lists them."
        raise MonitoringError("no_passing_run", rule, field=field)
    try:
        trajectory = Trajectory.model_validate_json(get_blob(context.objects, found.trajectory_digest))
    except ObjectNotFoundError:
        rule = f"the trajectory of {named!r} is no longer kept; pin another run."
        raise MonitoringError("baseline_not_pinned", rule, field=field) from None
    grade = grade_structurally(scenario, RunFacts(trajectory=trajectory))
    if grade.outcome == "failed":
        rule = f"{named!r} does not pass what the scenario file asserts today: {grade.reason or ''}"
        raise MonitoringError("no_passing_run", rule.rstrip(), field=field)
    return Pin(scenario_id=scenario.id, batch_id=found.batch_id, run_id=found.run_id, trajectory_digest=found.trajectory_digest)


def _in_batch(context: RunsContext, scenario: Scenario, batch_id: str, run_id: str) -> PassingRun | None:
    try:
        batch, run = context.batches.batch(batch_id), context.batches.run(batch_id, run_id)
    except UnknownNameError:
        return None
    is_passing = run.scenario_id == scenario.id and run.verdict == "passed" and run.trajectory_digest is not None
    return _passing(batch, run) if is_passing else None


def _anywhere(context: RunsContext, scenario: Scenario, run_id: str) -> PassingRun | None:
    of_scenario = (found.run for found in passing_runs(context) if found.scenario_id == scenario.id)
    return next((run for run in of_scenario if run.run_id == run_id), None)


def _passing(batch: Batch, run: Run) -> PassingRun:
    assert run.trajectory_digest is not None  # looked at by the callers
    return PassingRun(batch.id, run.id, run.created_at, run.trajectory_digest, batch.header.commit)
