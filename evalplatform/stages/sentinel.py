"""The sentinel: one night of the project's scenario file, its recordings beside its live agent."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from evalplatform.calls.progress import OnProgress
from evalplatform.drift.sentinel import night_reading
from evalplatform.kernel.errors import ScenarioFileError
from evalplatform.monitoring.slots import slot_at
from evalplatform.ports.agent_runner import AgentRunner
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.night import SENTINEL, Night, Slot
from evalplatform.runs.records import BatchHeader, Leg
from evalplatform.runs.scenario import Scenario
from evalplatform.runs.tolerance import DEFAULT_TOLERANCE
from evalplatform.stages.agent_identity import AgentIdentity, agent_identity
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_cost import NightMeter
from evalplatform.stages.night_end import finish_night
from evalplatform.stages.night_legs import (
    LegRequest,
    StoredLeg,
    can_go_on,
    holds_only,
    is_being_recorded,
    leg_header,
    nights_folder,
    record_leg,
    refuse_while_recorded,
)
from evalplatform.stages.night_scenarios import dead_of_replay, dead_words, watched_scenarios
from evalplatform.stages.run_batch import REPLAYS_ONLY

ABANDONED_AFTER = timedelta(days=1)
"""A night of the sentinel that is pending for so long was left for good."""
INTERRUPTED = "the check was interrupted, and not gone on with."


@dataclass(frozen=True)
class SentinelRequest:
    """What a night of the sentinel is asked for.

    Attributes:
        scenario_set: the scenarios, and the agent.
        slot: when the night is due; a night of the same slot that was left pending is gone on with.
        runs: live runs of each scenario.
        fail_rate: the reference rate that drift is told against, in (0, 1).
        max_cost_usd: the spend cap of the live leg; None for none.
        only: ids of the scenarios to watch; empty for all that have an assertion.
        commit: of the agent's repository, where it is known.
        actor: who asks, for the audit.
        goes_on: whether a night of this slot that was left is gone on with; else one that is there belongs to somebody else.
    """

    scenario_set: ScenarioSet
    slot: Slot
    runs: int
    fail_rate: float
    max_cost_usd: float | None = None
    only: tuple[str, ...] = ()
    commit: str | None = None
    actor: str = SENTINEL
    goes_on: bool = True

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios that are watched, in the order of the file; UnknownNameError where one is asked for that there is not."""
        wanted = {self.scenario_set.scenario(scenario_id).id for scenario_id in self.only}
        return tuple(one for one in self.scenario_set.scenarios if one.assertions and (not wanted or one.id in wanted))

    @property
    def not_watched(self) -> tuple[str, ...]:
        """The scenarios that were to be watched and have no assertion to be graded by."""
        return tuple(one.id for one in self.scenario_set.scenarios if not one.assertions and (not self.only or one.id in self.only))


async def run_sentinel(context: MonitoringContext, request: SentinelRequest, *, on_progress: OnProgress) -> Night:
    """Run a night of the sentinel to its end, and return it; one of this slot that has ended before, or is not ours, is returned as it is.

    The replay leg comes first: a scenario whose recording no longer passes cannot be watched, and its live leg does not run.

    Args:
        context: the monitoring side of the project.
        request: what is asked for.
        on_progress: told of each finished run.

    Raises:
        InputError: there is nothing to watch, or the agent cannot be opened; nothing was run.
        BundleInUseError: another process is at this very night.
        StorageError: what is finished could not be kept; the same slot goes on from there.
    """
    sentinel = _Sentinel(context, request, on_progress)
    sentinel.refuse_nothing_to_watch()
    end_abandoned(context)
    there = context.store.night(f"{SENTINEL}.{request.slot.id}")
    if there is not None and (there.state != "pending" or not request.goes_on):
        return there
    if there is not None:
        refuse_while_recorded(nights_folder(context.project), there.key)
    begun = context.store.begin(sentinel.begun(attempt=1 if there is None else there.attempt + 1))
    return await sentinel.ran(begun.night) if begun.is_ours else begun.night


def free_slot(context: MonitoringContext, now: datetime, timezone: str) -> Slot:
    """Return the slot of a night of its own that begins now: the first second from `now` on that no night of the sentinel has."""
    at = now.replace(microsecond=0)
    while context.store.night(f"{SENTINEL}.{slot_at(at, timezone).id}") is not None:
        at += timedelta(seconds=1)
    return slot_at(at, timezone)


def resumable_slot(context: MonitoringContext, request: SentinelRequest) -> Slot | None:
    """Return the slot of the newest night of the sentinel that was interrupted and that this request goes on with, or None.

    That is one of the last day, of the same scenarios, agent, commit and number of runs, which nobody is at.
    """
    sentinel = _Sentinel(context, request, lambda progress: None)
    for night in reversed(context.store.pending()):
        is_recent = night.began_at is not None and context.clock.now() - night.began_at < ABANDONED_AFTER
        if night.stream == SENTINEL and is_recent and sentinel.can_go_on(night.key):
            return night.slot
    return None


def end_abandoned(context: MonitoringContext) -> None:
    """End the nights of the sentinel that were interrupted and not gone on with for a day: failed checks, never clean ones."""
    for night in context.store.pending():
        if night.stream != SENTINEL or night.began_at is None or context.clock.now() - night.began_at < ABANDONED_AFTER:
            continue
        failed = night.with_changes(state="check_failed", reason="missed_slot", detail=INTERRUPTED)
        finish_night(context, failed, recipients=context.project.settings.sentinel.recipients)


@dataclass
class _Sentinel:
    context: MonitoringContext
    request: SentinelRequest
    on_progress: OnProgress

    def refuse_nothing_to_watch(self) -> None:
        """Raise InputError where there is nothing to watch or nobody to ask."""
        scenario_set = self.request.scenario_set
        if not self.request.scenarios:
            raise ScenarioFileError(
                "has no scenario with an assertion, so that there is nothing to watch.", file=scenario_set.file, field="scenarios"
            )
        if scenario_set.agent is None:
            raise ScenarioFileError(
                "says how the agent is run, and is missing: the live leg needs it.", file=scenario_set.file, field="agent"
            )

    def begun(self, *, attempt: int) -> Night:
        """Return the night as it begins."""
        return Night(
            source="sentinel",
            stream=SENTINEL,
            slot=self.request.slot,
            attempt=attempt,
            began_at=self.context.clock.now(),
            reference_fail_rate=self.request.fail_rate,
            runs_per_scenario=self.request.runs,
            not_watched=self.request.not_watched,
        )

    def can_go_on(self, night_key: str) -> bool:
        """Say whether a night that was left pending holds runs that this request would make, and no others."""
        folder = nights_folder(self.context.project)
        if is_being_recorded(folder, night_key):  # one of its legs is finished, and somebody is at the other
            return False
        legs: tuple[Leg, ...] = ("live", "replay")
        return any(can_go_on(folder, night_key, self._header_of(leg), leg) for leg in legs) and all(
            holds_only(folder, night_key, leg, partial(self._asks_for, leg)) for leg in legs
        )

    def _asks_for(self, leg: Leg, header: BatchHeader) -> bool:
        """Say whether a leg is of runs that this request would make; a live leg has fewer scenarios where a recording was dead."""
        return header.digest == self._header_of(leg, only=frozenset(header.scenarios)).digest

    def _header_of(self, leg: Leg, *, only: frozenset[str] | None = None) -> BatchHeader:
        scenarios = self.request.scenarios if leg == "live" else self._recorded()
        identity = self._agent_identity() if leg == "live" else REPLAYS_ONLY
        return self._header([one for one in scenarios if only is None or one.id in only], identity, leg)

    async def ran(self, night: Night) -> Night:
        """Run both legs, read them, and end the night."""
        meter = NightMeter(self.context.clock)
        replay = await self._replay_leg(night)
        dead = {} if replay is None else dead_of_replay(replay.runs)
        alive = tuple(scenario for scenario in self.request.scenarios if scenario.id not in dead)
        live = await self._live_leg(night, alive) if alive else None
        scenarios = watched_scenarios(
            {scenario.id: scenario.path_tolerance or DEFAULT_TOLERANCE for scenario in alive},
            replay={} if replay is None else replay.runs,
            live={} if live is None else live.runs,
            fail_rate=self.request.fail_rate,
            dead=dead,
        )
        reading = night_reading(scenarios)
        ended = night.with_changes(
            state=reading.state,
            reason=reading.reason,
            detail=None if reading.reason is None else dead_words(dead),
            scenarios=scenarios,
            replay_batch=None if replay is None else replay.batch.id,
            live_batch=None if live is None else live.batch.id,
            cost=meter.cost(requests=0 if live is None else live.made, legs=(replay, live)),
        )
        return finish_night(self.context, ended, recipients=self.context.project.settings.sentinel.recipients)

    async def _replay_leg(self, night: Night) -> StoredLeg | None:
        """Replay the recordings; None where no watched scenario has one."""
        scenarios = self._recorded()
        if not scenarios:
            return None
        scenario_set = self.request.scenario_set
        recordings = {one.id: path for one in scenarios if (path := scenario_set.watched_recording_of(one)) is not None}

        @asynccontextmanager
        async def opened(recording: str) -> AsyncIterator[AgentRunner]:
            yield self.context.run_ports.open_replay(recordings)

        request = LegRequest(night.key, self._header(scenarios, REPLAYS_ONLY, "replay"), scenarios, opened)
        return await self._stored(request)

    async def _live_leg(self, night: Night, scenarios: Sequence[Scenario]) -> StoredLeg:
        live = tuple(scenario.with_changes(replay=None) for scenario in scenarios)
        settings = self.request.scenario_set.agent
        assert settings is not None  # refuse_nothing_to_watch looked

        def opened(recording: str) -> AbstractAsyncContextManager[AgentRunner]:
            return self.context.run_ports.open_agent(
                settings, folder=self.request.scenario_set.file.parent, batch_key=recording, cap_usd=self.request.max_cost_usd
            )

        header = self._header(live, self._agent_identity(), "live")
        return await self._stored(LegRequest(night.key, header, live, opened, self.request.max_cost_usd))

    async def _stored(self, request: LegRequest) -> StoredLeg:
        return await record_leg(
            request,
            self.context.runs,
            folder=nights_folder(self.context.project),
            actor=self.request.actor,
            clock=self.context.clock,
            on_progress=self.on_progress,
        )

    def _recorded(self) -> tuple[Scenario, ...]:
        """Return the scenarios with a recording, as they are replayed."""
        named = ((scenario, scenario.replay or scenario.recording) for scenario in self.request.scenarios)
        return tuple(scenario.with_changes(replay=file, recording=None) for scenario, file in named if file is not None)

    def _agent_identity(self) -> AgentIdentity:
        settings = self.request.scenario_set.agent
        assert settings is not None  # refuse_nothing_to_watch looked
        return agent_identity(settings, self.context.project)

    def _header(self, scenarios: Sequence[Scenario], identity: AgentIdentity, leg: Leg) -> BatchHeader:
        return leg_header(
            self.request.scenario_set,
            scenarios,
            leg,
            project=self.context.project,
            identity=identity,
            runs=self.request.runs,
            now=self.context.clock.now(),
            commit=self.request.commit,
        )
