"""What is shown of schedules and of what they can watch, as values."""

from typing import Literal, NamedTuple

from pydantic import AwareDatetime

from evalplatform.kernel.values import Value
from evalplatform.monitoring.standings import Standing
from evalplatform.runs.night import Night, Slot
from evalplatform.runs.schedule import Schedule

NotMonitored = Literal["no_assertion_set", "no_passing_run"]
REASONS: dict[NotMonitored, str] = {
    "no_assertion_set": "it has no assertion to grade a run by",
    "no_passing_run": "no run of it that passed is stored",
}


class PassingRun(Value):
    """A stored run that passed: what a scenario can be pinned to."""

    batch_id: str
    run_id: str
    created_at: AwareDatetime
    agent: str
    commit: str | None


class MonitorableScenario(Value):
    """A scenario with its newest passing runs, newest first; or the reason why it cannot be monitored."""

    scenario_id: str
    reason: NotMonitored | None
    runs: tuple[PassingRun, ...] = ()


class AgentAnswer(Value):
    """What an endpoint answered to a test call.

    Attributes:
        endpoint: the address without its query.
        scenario_id: what was asked.
        steps, tools: how many steps the trajectory has, and which tools it called.
        seconds: how long it took; None where that is not known.
        problem: the agent's own word on how it ended, where it answered and did not finish; None where it did.
    """

    endpoint: str
    scenario_id: str
    steps: int
    tools: tuple[str, ...]
    seconds: float | None
    problem: str | None = None


class ListedSchedule(NamedTuple):
    """A schedule with what stands in it, its last night, and when the next one is due."""

    schedule: Schedule
    standing: Standing
    last_night: Night | None
    next_slot: Slot | None


class ListedSchedules(NamedTuple):
    """The project's schedules, and how many scenarios are in use: across all projects, by this one, and granted (None: no limit)."""

    schedules: tuple[ListedSchedule, ...]
    used: int
    used_here: int
    allowance: int | None
