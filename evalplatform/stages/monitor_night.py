"""One night of a schedule: the pinned runs graded again, then the agent asked at its endpoint, and what came out told where it changed."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from evalplatform.calls.progress import OnProgress
from evalplatform.drift.sentinel import NightReading, night_reading
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import CredentialUnreadableError, EndpointRefusedError, MonitoringError, RunStoppedError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest, AgentRunner
from evalplatform.ports.clock import Clock
from evalplatform.ports.monitored_agent import MonitoredAgent, MonitoredEndpoint
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.agent_settings import HttpAgent
from evalplatform.runs.night import DeadSensor, Night, NightReason, Slot, WatchedScenario
from evalplatform.runs.records import BatchHeader, Leg
from evalplatform.runs.scenario import Scenario
from evalplatform.runs.schedule import Schedule
from evalplatform.runs.tolerance import DEFAULT_TOLERANCE
from evalplatform.stages.agent_identity import AgentIdentity
from evalplatform.stages.allowance import allowance_shortfall
from evalplatform.stages.authorization import opened_authorization
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_cost import NightMeter
from evalplatform.stages.night_end import finish_night
from evalplatform.stages.night_legs import LegRequest, StoredLeg, leg_header, nights_folder, record_leg, refuse_while_recorded
from evalplatform.stages.night_scenarios import dead_of_replay, dead_words, watched_scenarios
from evalplatform.stages.pinned_runs import PinnedRunner, PinnedRuns, pinned_runs
from evalplatform.stages.run_batch import REPLAYS_ONLY
from evalplatform.stages.scenario_sets import current_scenarios


class NightOverError(RunStoppedError):
    """A night has taken as long as all of its calls together may."""

    reason = "budget"

    def __init__(self) -> None:
        super().__init__("the night has taken as long as all of its calls together may.")


OVER_TIME = f"{NightOverError.reason}: {NightOverError()}"
"""Why a live leg was truncated whose time ran out; its batch says so, whichever attempt recorded it."""


async def run_monitor_night(
    context: MonitoringContext, schedule_id: str, slot: Slot, *, attempt: int, actor: str, on_progress: OnProgress
) -> Night:
    """Run a night of a schedule to its end, and return it as it is stored.

    A night of this slot that has ended, or that a later attempt is at, is returned as it is. What an earlier attempt has finished is gone
    on with, unless the schedule names another endpoint or another pin by now.

    Args:
        context: the monitoring side of the project.
        schedule_id: whose night.
        slot: when it was due.
        attempt: which start of it this is, from 1.
        actor: who runs it, for the audit.
        on_progress: told of each finished run.

    Raises:
        MonitoringError: schedule_unknown; or schedule_changed, where it was paused before the night began, whose agent is not asked then.
        InputError: the project's scenario file cannot be used.
        BundleInUseError: another process is at this very night.
        StorageError: a store does not answer; another attempt goes on from there.
    """
    schedule = context.store.schedule(schedule_id)
    if schedule is None:
        raise MonitoringError("schedule_unknown", f"there is no schedule {schedule_id!r}.", field="schedule")
    there = context.store.night(f"{schedule_id}.{slot.id}")
    if there is not None and there.state != "pending":
        return there
    if not schedule.is_on:
        raise MonitoringError("schedule_changed", f"{schedule_id!r} is paused by now: its agent is not asked.", field="schedule")
    scenario_set = current_scenarios(context.runs)
    if there is not None:
        refuse_while_recorded(nights_folder(context.project), there.key)
    night = Night(
        source="monitor",
        stream=schedule_id,
        slot=slot,
        attempt=attempt,
        began_at=context.clock.now(),
        reference_fail_rate=context.project.settings.sentinel.reference_fail_rate,
        runs_per_scenario=schedule.runs,
    )
    begun = context.store.begin(night)
    if not begun.is_ours:
        return begun.night
    watch = _Watch(context, schedule, scenario_set, night, actor, on_progress, NightMeter(context.clock))
    ended = await watch.ended()
    return finish_night(context, ended, recipients=schedule.recipients)


class _Live(NamedTuple):
    """The live leg, None where there was nobody to ask for, and how many requests this process sent."""

    leg: StoredLeg | None
    requests: int = 0

    @property
    def is_over_time(self) -> bool:
        """Whether its time ran out."""
        return self.leg is not None and self.leg.batch.truncated_reason == OVER_TIME


@dataclass
class _Watch:
    context: MonitoringContext
    schedule: Schedule
    scenario_set: ScenarioSet
    night: Night
    actor: str
    on_progress: OnProgress
    meter: NightMeter

    async def ended(self) -> Night:
        """Return the night as it ended, alert and standing aside."""
        shortfall = allowance_shortfall(self.context)
        if shortfall is not None:
            return self._failed("allowance_exceeded", shortfall)
        try:
            authorization = opened_authorization(self.context.vault, self.schedule)
        except CredentialUnreadableError as error:
            return self._failed("credential_unreadable", str(error))
        pins = pinned_runs(self.context.runs, self.scenario_set, self.schedule.pins)
        if pins.changed:
            detail = f"what is stored is not what was pinned: {', '.join(pins.changed)}."
            return self._failed("baseline_not_pinned", detail, scenarios=self._of_changed_pins(pins))
        replay = await self._replay_leg(pins)
        dead = {**pins.dead, **({} if replay is None else dead_of_replay(replay.runs))}
        alive = tuple(pinned.scenario for name, pinned in pins.whole.items() if name not in dead)
        endpoint = MonitoredEndpoint(
            url=self.schedule.endpoint_url,
            project=self.context.project.settings.project,
            timeout_seconds=self.schedule.timeout_seconds,
            authorization=authorization,
        )
        try:
            live = await self._live_leg(alive, endpoint) if alive else _Live(None)
        except EndpointRefusedError as error:
            return self._failed("endpoint_unreachable", str(error), scenarios=self._seen(alive, dead, replay, None), replay=replay)
        return self._read(alive, dead, replay, live)

    def _read(self, alive: Sequence[Scenario], dead: Mapping[str, DeadSensor], replay: StoredLeg | None, live: _Live) -> Night:
        scenarios = self._seen(alive, dead, replay, live.leg)
        reading, detail = _reading(scenarios, live)
        return self.night.with_changes(
            state=reading.state,
            reason=reading.reason,
            detail=detail,
            scenarios=scenarios,
            replay_batch=None if replay is None else replay.batch.id,
            live_batch=None if live.leg is None else live.leg.batch.id,
            cost=self.meter.cost(requests=live.requests, legs=(replay, live.leg)),
        )

    def _failed(
        self, reason: NightReason, detail: str, *, scenarios: tuple[WatchedScenario, ...] = (), replay: StoredLeg | None = None
    ) -> Night:
        return self.night.with_changes(
            state="check_failed",
            reason=reason,
            detail=detail,
            scenarios=scenarios,
            replay_batch=None if replay is None else replay.batch.id,
            cost=self.meter.cost(requests=0, legs=(replay,)),
        )

    def _of_changed_pins(self, pins: PinnedRuns) -> tuple[WatchedScenario, ...]:
        """Return the scenarios of a night that one changed pin ends: nothing is seen of the others either."""
        changed = DeadSensor(kind="not_what_was_pinned", detail="what is stored has another digest")
        others = [pinned.scenario for pinned in pins.whole.values()]
        return self._seen(others, {**pins.dead, **dict.fromkeys(pins.changed, changed)}, None, None)

    def _seen(
        self, alive: Sequence[Scenario], dead: Mapping[str, DeadSensor], replay: StoredLeg | None, live: StoredLeg | None
    ) -> tuple[WatchedScenario, ...]:
        return watched_scenarios(
            {scenario.id: scenario.path_tolerance or DEFAULT_TOLERANCE for scenario in alive},
            replay={} if replay is None else replay.runs,
            live={} if live is None else live.runs,
            fail_rate=self.context.project.settings.sentinel.reference_fail_rate,
            dead=dead,
        )

    async def _replay_leg(self, pins: PinnedRuns) -> StoredLeg | None:
        if not pins.whole:
            return None
        scenarios = tuple(pinned.scenario for pinned in pins.whole.values())

        @asynccontextmanager
        async def opened(recording: str) -> AsyncIterator[AgentRunner]:
            yield PinnedRunner(pins.whole)

        digests = [pinned.run.trajectory_digest for pinned in pins.whole.values()]
        return await self._stored(LegRequest(self._leg_name(digests), self._header(scenarios, "replay"), scenarios, opened))

    async def _live_leg(self, alive: Sequence[Scenario], endpoint: MonitoredEndpoint) -> _Live:
        """Ask the agent. Raises EndpointRefusedError where the address is none that it may have any more."""
        scenarios = tuple(scenario.with_changes(replay=None) for scenario in alive)
        bound_seconds = len(scenarios) * self.schedule.runs * self.schedule.timeout_seconds
        bounded: list[_BoundedAgent] = []

        @asynccontextmanager
        async def opened(recording: str) -> AsyncIterator[AgentRunner]:
            async with self.context.open_monitored_agent(endpoint) as agent:
                bounded.append(_BoundedAgent(agent, self.context.clock, bound_seconds))
                yield bounded[-1]

        name = self._leg_name([self.schedule.endpoint_url])
        leg = await self._stored(LegRequest(name, self._header(scenarios, "live"), scenarios, opened))
        return _Live(leg, sum(one.requests for one in bounded))

    async def _stored(self, request: LegRequest) -> StoredLeg:
        return await record_leg(
            request,
            self.context.runs,
            folder=nights_folder(self.context.project),
            actor=self.actor,
            clock=self.context.clock,
            on_progress=self.on_progress,
        )

    def _leg_name(self, made_of: Sequence[str | None]) -> str:
        """Return what a leg's bundle is called by: a leg of other pins, or of another endpoint, is another one."""
        return f"{self.night.key}.{json_digest(list(made_of)).removeprefix('sha256:')[:8]}"

    def _header(self, scenarios: Sequence[Scenario], leg: Leg) -> BatchHeader:
        live = AgentIdentity(HttpAgent(url=self.schedule.endpoint_url).identity, None)
        return leg_header(
            self.scenario_set,
            scenarios,
            leg,
            project=self.context.project,
            identity=REPLAYS_ONLY if leg == "replay" else live,
            runs=self.schedule.runs,
            now=self.context.clock.now(),
        )


class _BoundedAgent:
    """An agent that is asked no longer than a night may take: each call for its own time, all of them together for the sum of that."""

    def __init__(self, agent: MonitoredAgent, clock: Clock, bound_seconds: float) -> None:
        self._agent = agent
        self._clock = clock
        self._ends_at_seconds = clock.monotonic_seconds() + bound_seconds
        self.agent, self.model, self.concurrency = agent.agent, agent.model, agent.concurrency

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return self._agent.requests

    async def run(self, request: AgentRequest) -> AgentReply:
        """Return what the agent did; NightOverError where the night's time is used up."""
        left_seconds = self._ends_at_seconds - self._clock.monotonic_seconds()
        if left_seconds > 0:
            try:
                async with asyncio.timeout(left_seconds) as limit:
                    return await self._agent.run(request)
            except TimeoutError:
                if not limit.expired():
                    raise
        raise NightOverError

    async def aclose(self) -> None:
        """Close nothing: whoever opened the agent closes it."""


def _reading(scenarios: Sequence[WatchedScenario], live: _Live) -> tuple[NightReading, str | None]:
    """Return how the night came out, and the detail of a failed check.

    What was seen to drift goes before what could not be seen. An endpoint at which no run at all could be made, and a night whose time ran
    out before some scenario was seen, are failed checks and no drift.
    """
    if any(scenario.drifted and scenario.graded for scenario in scenarios):
        return NightReading("checked_flagged"), None
    runs = [] if live.leg is None else [run for of_scenario in live.leg.runs.values() for run in of_scenario if run.was_made]
    if runs and all(run.outcome == "harness_error" for run in runs):
        return NightReading("check_failed", "endpoint_unreachable"), runs[-1].reason
    if live.is_over_time and any(scenario.dead is None and scenario.graded == 0 for scenario in scenarios):
        return NightReading("check_failed", "budget"), "the night's time ran out before every scenario was seen."
    reading = night_reading(scenarios)
    dead = [scenario.scenario_id for scenario in scenarios if scenario.dead is not None]
    return reading, None if reading.reason is None else dead_words(dead)
