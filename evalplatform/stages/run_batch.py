"""One batch of a scenario set: declared, begun or gone on with, run, and finished as a bundle."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from evalplatform.calls.desk import CallDesk
from evalplatform.calls.progress import OnProgress
from evalplatform.judging.run_judge import RunJudge
from evalplatform.kernel.errors import BundleError, InputError, ScenarioFileError
from evalplatform.ports.agent_runner import AgentRunner
from evalplatform.ports.clock import Clock
from evalplatform.project.load import Project
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.agent_settings import AgentSettings
from evalplatform.runs.bundle import BundleSummary, new_bundle, read_bundle, read_header, read_recording
from evalplatform.runs.bundle_file import nothing_recorded
from evalplatform.runs.bundle_reopened import ClaimedBundle, claimed_bundle
from evalplatform.runs.records import BatchHeader, CiEvent, PlannedScenario
from evalplatform.runs.scenario import Scenario
from evalplatform.stages.agent_identity import AgentIdentity, agent_identity
from evalplatform.stages.open_bundles import new_bundle_path, open_bundle_of
from evalplatform.stages.run_grading import RunGrader
from evalplatform.stages.run_scenarios import RecordedRuns, RunPlan, record_runs

REPLAYS_ONLY = AgentIdentity("replay", None)
"""The agent of a batch whose scenarios are all replayed."""


class RunPorts(Protocol):
    """What a batch needs from outside; an opened project gives it."""

    @property
    def project(self) -> Project:
        """The project whose batch it is."""
        ...

    @property
    def clock(self) -> Clock:
        """Says when runs end."""
        ...

    def open_agent(
        self, settings: AgentSettings, *, folder: Path, batch_key: str, cap_usd: float | None = None
    ) -> AbstractAsyncContextManager[AgentRunner]:
        """Open the agent of a scenario set."""
        ...

    def open_replay(self, recordings: Mapping[str, Path]) -> AgentRunner:
        """Return what replays the recordings of scenarios, by id."""
        ...

    def open_desk(self, endpoint_id: str, *, run_id: str, cap_usd: float | None = None) -> AbstractAsyncContextManager[CallDesk]:
        """Open the call desk of an endpoint, for a model judge."""
        ...


@dataclass(frozen=True)
class BatchRequest:
    """What one batch is asked for.

    Attributes:
        scenario_set: the scenarios, the agent, the judges.
        only: ids of the scenarios to run; empty for all.
        runs: how often a live scenario runs; None for what the scenario file says.
        planned_runs: how often each live scenario runs, by id, as a run plan says; None without one.
        max_cost_usd: the spend cap, over the agent's runs; None for none.
        commit, branch, ci_event: what is evaluated.
        flaw_at_end: asked once all runs are made: why they are not of that commit, or None.
        bundles_folder: where bundles lie.
        out: the bundle's file instead. One that is there, of the same batch, is gone on with where it lacks something.
    """

    scenario_set: ScenarioSet
    bundles_folder: Path
    only: tuple[str, ...] = ()
    runs: int | None = None
    planned_runs: Mapping[str, int] | None = None
    max_cost_usd: float | None = None
    commit: str | None = None
    branch: str | None = None
    ci_event: CiEvent | None = None
    flaw_at_end: Callable[[], str | None] = lambda: None
    out: Path | None = None

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios to run, in the order of the file; UnknownNameError where one is asked for that there is not."""
        wanted = {self.scenario_set.scenario(scenario_id).id for scenario_id in self.only}
        return tuple(scenario for scenario in self.scenario_set.scenarios if not wanted or scenario.id in wanted)

    def planned(self, scenario: Scenario) -> PlannedScenario:
        """Return what the batch declares of a scenario."""
        runs = self.runs if self.planned_runs is None else self.planned_runs.get(scenario.id)
        return self.scenario_set.planned(scenario, runs)


class BegunBatch(NamedTuple):
    """A bundle that is recorded into from now on.

    Attributes:
        path: its file.
        kept: how many runs it holds already.
        made_again: how many runs that could not run were taken out of it, to be made again.
        goes_on_by_itself: whether the same request goes on with it, should it be stopped. Where no commit is recorded the agent may have
            been edited meanwhile; then only a request that names its file as `out` does.
        left_open: an unfinished bundle of the same batch that was therefore not gone on with, or None.
    """

    path: Path
    kept: int
    made_again: int
    goes_on_by_itself: bool
    left_open: Path | None


class RanBatch(NamedTuple):
    """A finished bundle: its file, what it holds, and what of that was made now."""

    path: Path
    bundle: BundleSummary
    recorded: RecordedRuns


async def run_batch(
    request: BatchRequest, ports: RunPorts, *, on_progress: OnProgress, on_begun: Callable[[BegunBatch], None] = lambda begun: None
) -> RanBatch:
    """Run a batch to its end.

    An unfinished bundle of the same batch (same scenarios, agent, commit and planned runs) is gone on with, where a commit is recorded or
    `out` names it: only what it lacks, and what could not run, is run. One that another process is recording into is left to it.

    Args:
        request: what is asked for.
        ports: agents, endpoints, clock.
        on_progress: told of each finished run.
        on_begun: told once, before the first run.

    Raises:
        InputError: something that the request names cannot be used; nothing was run.
        BundleError: `out` holds another batch or a whole one, is no bundle, or is being recorded by another process.
        StorageError: what is finished could not be kept; the same request goes on from there.
    """
    scenarios = request.scenarios
    header = _header(request, ports, scenarios)
    async with AsyncExitStack() as opened:
        claimed, left_open = _claimed(request, header)
        path = _path(request, header) if claimed is None else claimed.path
        if claimed is not None:
            opened.callback(claimed.close)
            header = read_header(path)  # a batch that was begun by another run plan keeps that
        # Not the file's name: another batch may be written to a file of that name, and must not find these calls in the ledger.
        batch_key = (None if claimed is None else read_recording(path)) or secrets.token_hex(16)
        # Opened before the bundle is begun or changed: what cannot be opened leaves all as it was.
        agent = await _opened_agent(request, ports, scenarios, batch_key=batch_key, opened=opened)
        replay = ports.open_replay(_recordings(request.scenario_set, scenarios))
        judge_desk = await _opened_judge_desk(request, ports, scenarios, batch_key=batch_key, opened=opened)
        bundle = opened.enter_context(new_bundle(path, header, recording=batch_key) if claimed is None else claimed.gone_on_with())
        kept = read_bundle(path).runs
        on_begun(
            BegunBatch(
                path=path,
                kept=len(kept),
                made_again=0 if claimed is None else claimed.summary.could_not_run,
                goes_on_by_itself=request.out is not None or request.commit is not None,
                left_open=left_open,
            )
        )
        concurrency = replay.concurrency if agent is None else agent.concurrency
        recorded = await record_runs(
            RunPlan(scenarios=scenarios, planned=header.scenarios, concurrency=concurrency, max_cost_usd=request.max_cost_usd),
            bundle,
            kept=kept,
            agent_of=lambda scenario: agent if agent is not None and scenario.replay is None else replay,
            grade=RunGrader(_judge(request.scenario_set, judge_desk)),
            clock=ports.clock,
            on_progress=on_progress,
            judging_usd=lambda: 0.0 if judge_desk is None else judge_desk.tally.paid_usd or 0.0,
            flaw_at_end=request.flaw_at_end,
        )
    return RanBatch(path, read_bundle(path), recorded)


def _header(request: BatchRequest, ports: RunPorts, scenarios: Sequence[Scenario]) -> BatchHeader:
    scenario_set, settings = request.scenario_set, ports.project.settings
    identity = REPLAYS_ONLY if _all_replayed(scenarios) else agent_identity(_agent_settings(scenario_set), ports.project)
    return BatchHeader(
        tenant=settings.tenant,
        project=settings.project,
        commit=request.commit,
        branch=request.branch,
        ci_event=request.ci_event,
        agent=identity.agent,
        model=identity.model,
        judge=scenario_set.judge_identity,
        recorded_at=ports.clock.now(),
        scenario_set_digest=scenario_set.digest,
        set_scenarios=len(scenario_set.scenarios),
        policy=scenario_set.policy_json,
        scenarios={scenario.id: request.planned(scenario) for scenario in scenarios},
    )


def _claimed(request: BatchRequest, header: BatchHeader) -> tuple[ClaimedBundle | None, Path | None]:
    """Return the bundle that is gone on with, locked, or None to begin one; and the unfinished one that is left as it is, or None."""
    if request.out is None:
        claimed = open_bundle_of(request.bundles_folder, header, whatever_runs=request.planned_runs is not None)
        if claimed is None or header.commit is not None:
            return claimed, None
        claimed.close()
        return None, claimed.path
    if not request.out.exists() or nothing_recorded(request.out):
        return None, None
    there = read_header(request.out)
    is_same = there.digest_without_runs == header.digest_without_runs if request.planned_runs is not None else there.digest == header.digest
    if not is_same:
        raise BundleError("is there already, and holds another batch: name a new file.", file=request.out)
    return claimed_bundle(request.out), None


def _path(request: BatchRequest, header: BatchHeader) -> Path:
    return new_bundle_path(request.bundles_folder, header) if request.out is None else request.out


async def _opened_agent(
    request: BatchRequest, ports: RunPorts, scenarios: Sequence[Scenario], *, batch_key: str, opened: AsyncExitStack
) -> AgentRunner | None:
    """Open the agent, or return None where every scenario is replayed."""
    if _all_replayed(scenarios):
        return None
    file = request.scenario_set.file
    agent = ports.open_agent(_agent_settings(request.scenario_set), folder=file.parent, batch_key=batch_key, cap_usd=request.max_cost_usd)
    try:
        return await opened.enter_async_context(agent)
    except InputError as error:
        raise error.placed(file=error.file or file) from error.__cause__


async def _opened_judge_desk(
    request: BatchRequest, ports: RunPorts, scenarios: Sequence[Scenario], *, batch_key: str, opened: AsyncExitStack
) -> CallDesk | None:
    """Open the model judge's desk where a scenario asks for it. Its calls are shared: what was judged before is not asked again."""
    judge = request.scenario_set.model_judge
    if judge is None or not any(scenario.model_judge for scenario in scenarios):
        return None
    desk = ports.open_desk(judge.endpoint, run_id=f"batch:{batch_key}", cap_usd=request.max_cost_usd)
    return await opened.enter_async_context(desk)


def _judge(scenario_set: ScenarioSet, desk: CallDesk | None) -> RunJudge | None:
    judge = scenario_set.model_judge
    return None if judge is None or desk is None else RunJudge(judge.id, judge.settings, asker=desk)


def _agent_settings(scenario_set: ScenarioSet) -> AgentSettings:
    if scenario_set.agent is None:
        raise ScenarioFileError("says how the agent is run, and is missing: live scenarios need it.", file=scenario_set.file, field="agent")
    return scenario_set.agent


def _all_replayed(scenarios: Sequence[Scenario]) -> bool:
    return all(scenario.replay is not None for scenario in scenarios)


def _recordings(scenario_set: ScenarioSet, scenarios: Sequence[Scenario]) -> dict[str, Path]:
    recorded = {scenario.id: scenario_set.recording_of(scenario) for scenario in scenarios}
    return {scenario_id: path for scenario_id, path in recorded.items() if path is not None}
