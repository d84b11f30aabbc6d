"""Which scenarios can be monitored and why not, and the runs that they can be held to.

Nothing is pinned by itself: somebody chooses the run.
"""

from collections.abc import Iterator

from evalplatform.kernel.errors import HarnessError, MonitoringError
from evalplatform.monitoring.overview import REASONS, MonitorableScenario, NotMonitored, PassingRun
from evalplatform.monitoring.schedule_rules import RunChoice
from evalplatform.ports.agent_runner import AgentRequest
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.records import Batch, Run
from evalplatform.runs.scenario import Scenario
from evalplatform.runs.schedule import Pin
from evalplatform.stages.pinned_runs import PinnedRun, PinnedRunner, pinned_runs
from evalplatform.stages.run_grading import graded_run
from evalplatform.stages.runs_context import RunsContext

NEWEST_RUNS = 3


def monitorable_scenarios(context: RunsContext, scenario_set: ScenarioSet, *, newest: int = NEWEST_RUNS) -> tuple[MonitorableScenario, ...]:
    """Return every scenario of the file, in its order, with at most `newest` passing runs.

    Batches are read newest first, and no further than needed. Runs of a night's live leg count, so that a changed agent can be pinned anew
    from a night that saw it; what a night replayed is the pin itself and does not.

    Raises:
        StorageUnavailableError: the store does not answer.
    """
    found: dict[str, list[PassingRun]] = {scenario.id: [] for scenario in scenario_set.scenarios if scenario.assertions}
    for batch in context.batches.batches():
        wanted = {name for name, runs in found.items() if len(runs) < newest}
        if not wanted:
            break
        for run in _passing_runs(context, batch, wanted):
            found[run.scenario_id].append(_passing(batch, run))
    return tuple(
        MonitorableScenario(scenario_id=scenario.id, reason=_reason(scenario, runs), runs=tuple(runs[:newest]))
        for scenario in scenario_set.scenarios
        for runs in [found.get(scenario.id, [])]
    )


async def new_pin(context: RunsContext, scenario_set: ScenarioSet, scenario_id: str, choice: RunChoice) -> Pin:
    """Return a run as the pin of a scenario, once it is stored whole and passes what the scenario asserts today.

    Raises:
        UnknownNameError: no such scenario, batch or run, with the nearest one.
        InputError: the batch is of another project, or keeps that run no more.
        MonitoringError: no_assertion_set, no_passing_run (the chosen run is none), baseline_not_pinned (what is stored of it is not what it
            recorded).
        StorageUnavailableError: a store does not answer.
    """
    field = f"scenarios.{scenario_id}"
    if not scenario_set.scenario(scenario_id).assertions:
        raise MonitoringError("no_assertion_set", f"{REASONS['no_assertion_set']}.", field=field)
    run = context.batches.run(choice.batch_id, choice.run_id)
    if run.scenario_id != scenario_id:
        raise MonitoringError("no_passing_run", f"{choice.run_id} is a run of another scenario, {run.scenario_id!r}.", field=field)
    if run.verdict != "passed" or run.trajectory_digest is None:
        raise MonitoringError("no_passing_run", f"{choice.run_id} did not pass: {run.reason or run.outcome}.", field=field)
    pin = Pin(scenario_id=scenario_id, batch_id=choice.batch_id, run_id=choice.run_id, trajectory_digest=run.trajectory_digest)
    pinned = pinned_runs(context, scenario_set, (pin,)).whole.get(scenario_id)
    if pinned is None:
        rule = f"the trajectory of {choice.run_id} is no longer stored as it was recorded; pin another run."
        raise MonitoringError("baseline_not_pinned", rule, field=field)
    failure = await _failure_today(scenario_id, pinned)
    if failure is not None:
        raise MonitoringError("no_passing_run", f"{choice.run_id} would not pass today: {failure}", field=field)
    return pin


async def _failure_today(scenario_id: str, pinned: PinnedRun) -> str | None:
    """Return why a pinned run would be a dead sensor on its first night; None where it passes."""
    request = AgentRequest(scenario_id=scenario_id, messages=pinned.scenario.messages, order=0)
    try:
        reply = await PinnedRunner({scenario_id: pinned}).run(request)
    except HarnessError as error:
        return str(error)
    graded = graded_run(pinned.scenario, 0, reply, ended_at=pinned.run.created_at)
    return None if graded.verdict == "passed" else graded.reason or graded.outcome


def _passing_runs(context: RunsContext, batch: Batch, wanted: set[str]) -> Iterator[Run]:
    """Iterate over the passing runs of a batch, of the wanted scenarios, the most recent one of each scenario first."""
    declared = batch.header.scenarios
    if not batch.passed_runs or batch.retention == "expired" or (declared and not wanted.intersection(declared)):
        return
    runs = [
        run
        for run in context.batches.runs(batch.id)
        if run.scenario_id in wanted and run.verdict == "passed" and run.has_steps and not (batch.is_leg and run.leg == "replay")
    ]
    yield from sorted(runs, key=lambda run: -run.order)


def _passing(batch: Batch, run: Run) -> PassingRun:
    return PassingRun(batch_id=batch.id, run_id=run.id, created_at=run.created_at, agent=batch.header.agent, commit=batch.header.commit)


def _reason(scenario: Scenario, runs: list[PassingRun]) -> NotMonitored | None:
    if not scenario.assertions:
        return "no_assertion_set"
    return None if runs else "no_passing_run"
