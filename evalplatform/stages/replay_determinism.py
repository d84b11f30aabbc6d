"""Whether compared replays come out the same when they are run and graded again: what a gate may ask for beyond the rule."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from evalplatform.comparisons.batches.scenario_pairs import ScenarioSide, scenario_pairs
from evalplatform.gates.records import ReplayDeterminism
from evalplatform.kernel.errors import HarnessError, InputError
from evalplatform.project.scenario_file import load_scenario_set
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.records import Batch, Run
from evalplatform.runs.scenario import Scenario
from evalplatform.stages.batch_sides import BatchSide
from evalplatform.stages.run_grading import graded_run
from evalplatform.stages.run_scenarios import RunSlot, agent_request
from evalplatform.stages.runs_context import RunsContext

OPTION = "--require-replay-determinism"


class ReplayPair(NamedTuple):
    """The two replays of one scenario that a comparison goes by."""

    baseline: Run
    candidate: Run

    @property
    def scenario_id(self) -> str:
        """Which scenario."""
        return self.candidate.scenario_id


def replay_determinism(context: RunsContext, baseline: BatchSide, candidate: BatchSide) -> ReplayDeterminism:
    """Run every compared replay again from the scenario file, grade it, and compare it with what the batches hold.

    A replay is the same where the outcome and the trajectory are. The candidate's is compared; the baseline's too where it was recorded
    with the same scenario file, which says that it has to be the same. No model is asked, and no agent is run.

    Raises:
        InputError: determinism cannot be told: no scenario is a replay with a verdict on both sides, the scenario file is not the one that
            the candidate was recorded with, or a recording can no longer be replayed. It names which.
    """
    pairs = list(_compared_replays(baseline, candidate))
    if not pairs:
        raise InputError("no scenario has a replay with a verdict on both sides, so there is nothing to run again.", field=OPTION)
    scenario_set = _scenario_set_of(candidate.batch, pairs, context)
    again = asyncio.run(_run_again(scenario_set, pairs, context))
    both = _is_recorded_with(scenario_set, baseline.batch)
    differing = [
        pair.scenario_id
        for pair, run in zip(pairs, again, strict=True)
        if not _is_same(run, pair.candidate) or (both and not _is_same(run, pair.baseline))
    ]
    return ReplayDeterminism(verified=len(pairs) - len(differing), differing=tuple(differing))


def _compared_replays(baseline: BatchSide, candidate: BatchSide) -> Iterator[ReplayPair]:
    for pair in scenario_pairs(baseline.runs, candidate.runs):
        before, after = _replay_of(pair.baseline), _replay_of(pair.candidate)
        if before is not None and after is not None:
            yield ReplayPair(before, after)


def _replay_of(side: ScenarioSide | None) -> Run | None:
    run = None if side is None else side.compared_run
    return run if run is not None and run.leg == "replay" and run.verdict is not None else None


def _scenario_set_of(batch: Batch, pairs: list[ReplayPair], context: RunsContext) -> ScenarioSet:
    """Return the project's scenario set, if it is the one that the batch was recorded with."""
    file = context.project.scenario_file
    if file is None:
        raise InputError(
            "the project names no scenario file, so replays cannot be run and graded again.", file=context.project.file, field=OPTION
        )
    scenario_set = load_scenario_set(file, project=context.project)
    if _is_recorded_with(scenario_set, batch):
        return scenario_set
    there = {scenario.id for scenario in scenario_set.scenarios if scenario.replay is not None}
    missing = next((pair.scenario_id for pair in pairs if pair.scenario_id not in there), None)
    detail = "" if missing is None else f" It has no replay {missing!r}."
    raise InputError(f"is not the scenario file that {batch.id} was recorded with.{detail}", file=file, field=OPTION)


def _is_recorded_with(scenario_set: ScenarioSet, batch: Batch) -> bool:
    """Return whether a batch was recorded with this scenario file, also where it ran under a gate policy that the platform held."""
    policy = batch.header.policy
    held = policy is not None and "tier_by_scenario" in policy
    recorded = scenario_set.under_policy(HeldPolicy.model_validate(policy)) if held else scenario_set
    return batch.header.scenario_set_digest == recorded.digest


async def _run_again(scenario_set: ScenarioSet, pairs: list[ReplayPair], context: RunsContext) -> list[Run]:
    scenarios = [scenario_set.scenario(pair.scenario_id) for pair in pairs]
    replay = context.open_replay({scenario.id: path for scenario in scenarios if (path := scenario_set.recording_of(scenario)) is not None})

    async def again(scenario: Scenario, order: int) -> Run:
        try:
            reply = await replay.run(agent_request(RunSlot(scenario, order)))
        except HarnessError as error:
            raise InputError(f"{scenario.id!r} cannot be replayed any more: {error}", field=OPTION) from error
        return await asyncio.to_thread(graded_run, scenario, order, reply, ended_at=context.clock.now())

    return [await again(scenario, pair.candidate.order) for scenario, pair in zip(scenarios, pairs, strict=True)]


def _is_same(again: Run, recorded: Run) -> bool:
    return (again.outcome, again.trajectory_digest) == (recorded.outcome, recorded.trajectory_digest)
