"""The pinned runs of a schedule: whether they still are what was pinned, and their trajectories, replayed to be graded again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import ValidationError

from evalplatform.artifacts.blobs import get_blob
from evalplatform.kernel.errors import DigestMismatchError, HarnessError, InputError, ObjectNotFoundError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.agent_contract import missing_message
from evalplatform.runs.night import DeadSensor
from evalplatform.runs.records import Run
from evalplatform.runs.scenario import Scenario
from evalplatform.runs.schedule import Pin
from evalplatform.runs.trajectory import Trajectory
from evalplatform.stages.runs_context import RunsContext

PINNED = "pinned run"
"""What stands in a scenario's `replay` where its pinned run is replayed; no file is opened for it."""
CONCURRENCY = 4


class PinnedRun(NamedTuple):
    """A pinned run with its trajectory, and the scenario as it is replayed."""

    scenario: Scenario
    run: Run
    trajectory: Trajectory


class PinnedRuns(NamedTuple):
    """What became of a schedule's pins.

    Attributes:
        whole: those that are what was pinned, by scenario id.
        dead: why scenarios cannot be watched, by id: their pin is gone, or the scenario file has them no more.
        changed: the scenarios whose stored trajectory is not what was pinned any more: nothing may be compared with them.
    """

    whole: Mapping[str, PinnedRun]
    dead: Mapping[str, DeadSensor]
    changed: tuple[str, ...]


def pinned_runs(context: RunsContext, scenario_set: ScenarioSet, pins: tuple[Pin, ...]) -> PinnedRuns:
    """Return the pinned runs as they are stored today.

    Raises:
        StorageUnavailableError: a store does not answer, which is no answer about any pin.
    """
    scenarios = {scenario.id: scenario for scenario in scenario_set.scenarios}
    whole: dict[str, PinnedRun] = {}
    dead: dict[str, DeadSensor] = {}
    changed: list[str] = []
    for pin in pins:
        scenario = scenarios.get(pin.scenario_id)
        if scenario is None:
            dead[pin.scenario_id] = DeadSensor(kind="not_in_scenario_file", detail="the scenario file has it no more")
            continue
        try:
            run = context.batches.run(pin.batch_id, pin.run_id)
            if run.trajectory_digest != pin.trajectory_digest:
                changed.append(pin.scenario_id)
                continue
            trajectory = Trajectory.model_validate_json(get_blob(context.objects, pin.trajectory_digest))
        except (InputError, ObjectNotFoundError):
            dead[pin.scenario_id] = DeadSensor(kind="pin_gone", detail=f"the run {pin.run_id} of {pin.batch_id} is no longer kept")
        except (DigestMismatchError, ValidationError):
            changed.append(pin.scenario_id)
        else:
            whole[pin.scenario_id] = PinnedRun(scenario.with_changes(replay=PINNED, recording=None), run, trajectory)
    return PinnedRuns(whole, dead, tuple(changed))


@dataclass(frozen=True)
class PinnedRunner:
    """The AgentRunner port over pinned runs: every scenario is answered with its own, and nobody is asked."""

    pinned: Mapping[str, PinnedRun]
    concurrency: int = CONCURRENCY
    agent: str = "replay"
    model: None = None

    async def run(self, request: AgentRequest) -> AgentReply:
        """Return what the pinned run did.

        Raises:
            HarnessError: it was asked something else than the scenario asks today.
        """
        pinned = self.pinned[request.scenario_id]
        missing = missing_message(pinned.trajectory, request.messages)
        if missing is not None:
            raise HarnessError("other_messages", f"the pinned run was not asked {missing}, which the scenario asks today.")
        return AgentReply(trajectory=pinned.trajectory, usage=pinned.run.usage, cost_usd=pinned.run.cost_usd, seconds=pinned.run.seconds)

    async def aclose(self) -> None:
        """Close nothing."""
