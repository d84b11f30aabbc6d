"""Running scenarios: every planned run asked of the agent, graded, and kept in a bundle the moment it ends.

The order is attempt by attempt (every scenario's first run, then every second one), so that whatever stops a batch leaves run sets of
about equal size. A stop is no error of the batch: what is finished is kept, what was not made is listed as ungraded, and the batch is
truncated and says why.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evalplatform.calls.pool import map_bounded
from evalplatform.calls.progress import OnProgress, ProgressMeter
from evalplatform.kernel.errors import HarnessError, InputError, RunStoppedError, StorageError
from evalplatform.kernel.text import clip
from evalplatform.kernel.usage import known_sum
from evalplatform.ports.agent_runner import AgentReply, AgentRequest, AgentRunner
from evalplatform.ports.clock import Clock
from evalplatform.runs.bundle import BundleWriter
from evalplatform.runs.records import PlannedScenario, Run
from evalplatform.runs.scenario import Scenario
from evalplatform.stages.run_grading import MAX_REASON_CHARS, GradeRun, ungraded_run

STAGE_NAME = "runs"
HARNESS_ERRORS_IN_A_ROW = 5
"""So many runs one after the other that could not run stop the batch: the next ones could not either."""


@dataclass(frozen=True)
class RunPlan:
    """What a batch is to make.

    Attributes:
        scenarios: what is run, in the order of the file.
        planned: what the batch declares of each, by id; its planned runs say how often.
        concurrency: how many runs go on at a time.
        max_cost_usd: the batch's spend cap; None for none.
    """

    scenarios: tuple[Scenario, ...]
    planned: Mapping[str, PlannedScenario]
    concurrency: int
    max_cost_usd: float | None = None

    @property
    def slots(self) -> tuple["RunSlot", ...]:
        """Every planned run, attempt by attempt."""
        most = max((planned.planned_runs for planned in self.planned.values()), default=0)
        return tuple(
            RunSlot(scenario, order)
            for order in range(most)
            for scenario in self.scenarios
            if order < self.planned[scenario.id].planned_runs
        )


@dataclass(frozen=True)
class RunSlot:
    """One planned run."""

    scenario: Scenario
    order: int


@dataclass(frozen=True)
class RecordedRuns:
    """What recording came to: how many runs were made now, how many were there before, and why the batch was truncated, if it was."""

    made: int
    kept: int
    truncated_reason: str | None


async def record_runs(
    plan: RunPlan,
    bundle: BundleWriter,
    *,
    kept: Sequence[Run],
    agent_of: Callable[[Scenario], AgentRunner],
    grade: GradeRun,
    clock: Clock,
    on_progress: OnProgress,
    judging_usd: Callable[[], float] = lambda: 0.0,
    flaw_at_end: Callable[[], str | None] = lambda: None,
) -> RecordedRuns:
    """Make every run of the plan that the bundle does not hold yet, and finish the bundle.

    Args:
        plan: what is to be made.
        bundle: where it goes; it is finished when this returns.
        kept: the runs that the bundle holds already. Their cost counts towards the cap.
        agent_of: the runner of a scenario: the agent, or the replay of its recording.
        grade: turns what the agent did into a graded run.
        clock: says when a run ended.
        on_progress: told of each finished run.
        judging_usd: what grading has cost until now; it counts towards the cap.
        flaw_at_end: asked once all runs are made: why the batch is not what it says, or None.

    Raises:
        StorageError: the bundle, or the ledger of a model agent, does not take what is finished; nothing more is asked then, and the
            bundle stays open, to be gone on with.
    """
    there = {(run.scenario_id, run.order) for run in kept}
    slots = [slot for slot in plan.slots if (slot.scenario.id, slot.order) not in there]
    costs_usd: list[float | None] = []
    meter = ProgressMeter(STAGE_NAME, len(slots), clock, on_progress, spent_usd=lambda: known_sum(costs_usd))
    cap = None if plan.max_cost_usd is None else SpendCap(plan.max_cost_usd, kept, judging_usd=judging_usd)
    recording = _Recording(bundle=bundle, agent_of=agent_of, grade=grade, clock=clock, meter=meter, costs_usd=costs_usd, cap=cap)
    await map_bounded(recording.fill, slots, concurrency=plan.concurrency)
    reason = recording.stopped or flaw_at_end()
    bundle.finish(truncated_reason=reason, not_made=recording.not_made)
    return RecordedRuns(made=len(slots) - len(recording.not_made), kept=len(kept), truncated_reason=reason)


class SpendCap:
    """A batch's spend cap over runs whose cost is known only once they have ended.

    A run starts only where what is spent, and what the runs under way cost at worst (each the most that one has cost so far), leave room
    for another one like that; and where the cap is not spent already. Before any cost is known one run goes alone. So the cap is passed
    only by the first run, or one that costs more than every one before it.
    """

    def __init__(self, max_cost_usd: float, kept: Iterable[Run] = (), *, judging_usd: Callable[[], float] = lambda: 0.0) -> None:
        costs = [run.cost_usd for run in kept if run.leg == "live" and run.cost_usd is not None]
        self.max_cost_usd = max_cost_usd
        self.spent_usd = sum(costs)
        self._judging_usd = judging_usd
        self._most_usd = max(costs, default=None)
        self._under_way = 0
        self._changed = asyncio.Condition()

    async def admit(self) -> bool:
        """Wait until a run may start and return True; return False once none may."""
        async with self._changed:
            while True:
                if self._fits_one_more():
                    self._under_way += 1
                    return True
                if self._under_way == 0:
                    return False
                await self._changed.wait()  # a run under way may cost less than the worst

    def _fits_one_more(self) -> bool:
        spent_usd = self.spent_usd + self._judging_usd()
        if spent_usd >= self.max_cost_usd:
            return False
        if self._most_usd is None:
            return self._under_way == 0
        return spent_usd + (self._under_way + 1) * self._most_usd <= self.max_cost_usd

    async def ended(self, cost_usd: float | None) -> None:
        """Count what a run has cost; None where nothing is known of it."""
        async with self._changed:
            self._under_way -= 1
            if cost_usd is not None:
                self.spent_usd += cost_usd
                self._most_usd = max(cost_usd, self._most_usd or 0.0)
            self._changed.notify_all()


@dataclass
class _Recording:
    bundle: BundleWriter
    agent_of: Callable[[Scenario], AgentRunner]
    grade: GradeRun
    clock: Clock
    meter: ProgressMeter
    costs_usd: list[float | None]
    cap: SpendCap | None
    stopped: str | None = None
    not_made: list[Run] = field(default_factory=list)
    _could_not_run: int = 0

    async def fill(self, slot: RunSlot) -> None:
        """Make one run and record it; where the batch has stopped, note that it was not made."""
        cap = self.cap if slot.scenario.replay is None else None  # a replay costs nothing
        if self.stopped is not None:
            self._leave(slot)
        elif cap is None:
            await self._make_unless_stopped(slot)
        elif await cap.admit():
            cost_usd = None
            try:
                cost_usd = await self._make_unless_stopped(slot)
            finally:
                await cap.ended(cost_usd)
        else:
            self._stop(f"the spend cap of ${cap.max_cost_usd:g} was reached")
            self._leave(slot)

    async def _make_unless_stopped(self, slot: RunSlot) -> float | None:
        """Make one run and return what it cost; while it waited for the cap, the batch may have stopped."""
        if self.stopped is None:
            return await self._make(slot)
        self._leave(slot)
        return None

    async def _make(self, slot: RunSlot) -> float | None:
        try:
            run, reply = await self._run_and_grade(slot)
        except RunStoppedError as stop:
            self._stop(f"{stop.reason}: {stop}")
            self._leave(slot)
            return None
        self.bundle.add(run, None if reply is None else reply.trajectory)
        if run.leg == "live":  # what a recording has cost was paid then
            self.costs_usd.append(run.cost_usd)
        self.meter.finished(failed=run.outcome != "passed")
        self._watch(run)
        return run.cost_usd

    async def _run_and_grade(self, slot: RunSlot) -> tuple[Run, AgentReply | None]:
        """Return the graded run with what the agent did; what could not run is a run too, with its reason."""
        try:
            reply = await self.agent_of(slot.scenario).run(agent_request(slot))
        except (RunStoppedError, StorageError):
            raise
        except HarnessError as error:
            return self._run_that_could_not(slot, f"{error.reason}: {error}"), None
        except Exception as error:
            # One run that meets what nobody foresaw must not take the finished ones' batch along.
            return self._run_that_could_not(slot, f"unforeseen: {type(error).__name__}: {error}"), None
        try:
            return await self.grade(slot.scenario, slot.order, reply, ended_at=self.clock.now()), reply
        except (RunStoppedError, StorageError):
            raise
        except Exception as error:
            return self._without_verdict(slot, reply, f"grading failed: {type(error).__name__}: {error}")

    def _without_verdict(self, slot: RunSlot, reply: AgentReply, reason: str) -> tuple[Run, AgentReply | None]:
        """Return what the agent did, kept without a verdict since it was paid for; its steps only where they can be stored."""
        try:
            return ungraded_run(slot.scenario, slot.order, reply, ended_at=self.clock.now(), reason=reason), reply
        except InputError as error:  # a lone surrogate, which no store keeps
            unkept = self._run_that_could_not(slot, f"the trajectory cannot be kept: it {error.rule}")
            return unkept.with_changes(cost_usd=reply.cost_usd, usage=reply.usage, seconds=reply.seconds), None

    def _run_that_could_not(self, slot: RunSlot, reason: str) -> Run:
        return Run(
            scenario_id=slot.scenario.id,
            order=slot.order,
            created_at=self.clock.now(),
            leg="live" if slot.scenario.replay is None else "replay",
            outcome="harness_error",
            reason=clip(reason, MAX_REASON_CHARS),
        )

    def _watch(self, run: Run) -> None:
        """Stop the batch where the agent cannot be run again and again, or where a cap cannot be kept since costs are not known."""
        self._could_not_run = self._could_not_run + 1 if run.outcome == "harness_error" else 0
        if self._could_not_run >= HARNESS_ERRORS_IN_A_ROW:
            self._stop(f"{HARNESS_ERRORS_IN_A_ROW} runs in a row could not run; the last one: {run.reason}")
        if self.cap is not None and run.leg == "live" and run.cost_usd is None and run.outcome != "harness_error":
            self._stop("the agent does not state what a run costs, so a spend cap cannot be kept")

    def _stop(self, reason: str) -> None:
        """Start no further run; the first reason is the batch's."""
        if self.stopped is None:
            self.stopped = clip(reason, MAX_REASON_CHARS)

    def _leave(self, slot: RunSlot) -> None:
        self.not_made.append(
            Run(
                scenario_id=slot.scenario.id,
                order=slot.order,
                created_at=self.clock.now(),
                leg="live" if slot.scenario.replay is None else "replay",
                outcome="ungraded",
                reason=f"not made: {self.stopped}",
            )
        )


def agent_request(slot: RunSlot) -> AgentRequest:
    """Return what an agent is asked for a planned run, with the run's own limits."""
    return AgentRequest(
        scenario_id=slot.scenario.id,
        messages=slot.scenario.messages,
        order=slot.order,
        max_seconds=slot.scenario.max_seconds,
        max_cost_usd=slot.scenario.max_cost_usd,
        max_steps=slot.scenario.max_steps,
    )
