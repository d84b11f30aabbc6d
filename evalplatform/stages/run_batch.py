"""One batch of a scenario set: declared, begun or gone on with, run, and finished as a bundle."""

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
from evalplatform.runs.bundle import BundleSummary, new_bundle, read_bundle, read_header, reopened_bundle
from evalplatform.runs.records import BatchHeader, CiEvent
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
        max_cost_usd: the spend cap, over the agent's runs; None for none.
        commit, branch, ci_event: what is evaluated.
        bundles_folder: where bundles lie.
        out: the bundle's file instead. One that is there and open, or truncated, of the same batch, is gone on with.
    """

    scenario_set: ScenarioSet
    bundles_folder: Path
    only: tuple[str, ...] = ()
    runs: int | None = None
    max_cost_usd: float | None = None
    commit: str | None = None
    branch: str | None = None
    ci_event: CiEvent | None = None
    out: Path | None = None

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios to run, in the order of the file; UnknownNameError where one is asked for that there is not."""
        wanted = {self.scenario_set.scenario(scenario_id).id for scenario_id in self.only}
        return tuple(scenario for scenario in self.scenario_set.scenarios if not wanted or scenario.id in wanted)


class RanBatch(NamedTuple):
    """A finished bundle: its file, what it holds, and what of that was made now."""

    path: Path
    bundle: BundleSummary
    recorded: RecordedRuns


async def run_batch(
    request: BatchRequest, ports: RunPorts, *, on_progress: OnProgress, on_begun: Callable[[Path, int], None] = lambda path, kept: None
) -> RanBatch:
    """Run a batch to its end.

    An unfinished bundle of the same batch (same scenarios, agent, commit and planned runs) is gone on with: only what it lacks is run.

    Args:
        request: what is asked for.
        ports: agents, endpoints, clock.
        on_progress: told of each finished run.
        on_begun: told once where the bundle lies and how many runs it holds already.

    Raises:
        InputError: something that the request names cannot be used; nothing was run.
        BundleError: the bundle's file is in the way, finished, or being recorded by another process.
        StorageError: what is finished could not be kept; the same request goes on from there.
    """
    scenarios = request.scenarios
    header = _header(request, ports, scenarios)
    path, is_there = _place(request, header)
    async with AsyncExitStack() as opened:
        # Opened before the bundle: what cannot be opened leaves none behind.
        agent = await _opened_agent(request, ports, scenarios, batch_key=path.stem, opened=opened)
        replay = ports.open_replay(_recordings(request.scenario_set, scenarios))
        judge_desk = await _opened_judge_desk(request, ports, scenarios, batch_key=path.stem, opened=opened)
        bundle = opened.enter_context(reopened_bundle(path) if is_there else new_bundle(path, header))
        kept = read_bundle(path).runs
        on_begun(path, len(kept))
        recorded = await record_runs(
            RunPlan(
                scenarios=scenarios,
                planned=header.scenarios,
                concurrency=replay.concurrency if agent is None else agent.concurrency,
                max_cost_usd=request.max_cost_usd,
            ),
            bundle,
            kept=kept,
            agent_of=lambda scenario: agent if agent is not None and scenario.replay is None else replay,
            grade=RunGrader(_judge(request.scenario_set, judge_desk)),
            clock=ports.clock,
            on_progress=on_progress,
            judging_usd=lambda: 0.0 if judge_desk is None else judge_desk.tally.paid_usd or 0.0,
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
        policy=scenario_set.policy_json,
        scenarios={scenario.id: scenario_set.planned(scenario, request.runs) for scenario in scenarios},
    )


def _place(request: BatchRequest, header: BatchHeader) -> tuple[Path, bool]:
    """Return the bundle's file, and whether it is there already, to be gone on with."""
    if request.out is None:
        there = open_bundle_of(request.bundles_folder, header)
        return there or new_bundle_path(request.bundles_folder, header), there is not None
    if not request.out.exists():
        return request.out, False
    if read_header(request.out).digest != header.digest:
        raise BundleError("is there already, and holds another batch: name a new file.", file=request.out)
    return request.out, True


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
