"""The legs of a night: runs of several scenarios recorded into a bundle of the night's own, and stored as a batch.

A bundle's path follows from the night's key, so that a night whose process died goes on with what is there: nothing that was finished is
asked again. Once the night has ended its bundles are removed; the batches hold all of it.
"""

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from evalplatform.calls.progress import OnProgress
from evalplatform.judging.structural import STRUCTURAL_JUDGE
from evalplatform.kernel.errors import BundleError, BundleInUseError
from evalplatform.ports.agent_runner import AgentRunner
from evalplatform.ports.clock import Clock
from evalplatform.project.load import Project
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.bundle import new_bundle, read_bundle, read_recording
from evalplatform.runs.bundle_file import locked, nothing_recorded
from evalplatform.runs.bundle_reopened import claimed_bundle
from evalplatform.runs.records import Batch, BatchHeader, Leg, PlannedScenario
from evalplatform.runs.scenario import Scenario
from evalplatform.stages.agent_identity import AgentIdentity
from evalplatform.stages.night_scenarios import LegRuns, leg_runs
from evalplatform.stages.push import push_bundle
from evalplatform.stages.run_grading import RunGrader
from evalplatform.stages.run_scenarios import RunPlan, record_runs
from evalplatform.stages.runs_context import RunsContext

NIGHTS_FOLDER = "nights"
NIGHT_OF_BUNDLE = re.compile(r".+?\.\d{8}t\d{6}z-\d{4}-\d{2}-\d{2}(?=\.)")
"""The night's key at the head of a bundle's name; the name of a schedule may hold dots too."""
OpenAgent = Callable[[str], AbstractAsyncContextManager[AgentRunner]]
"""Opens what makes a leg's runs, given the key of the recording: a model agent's calls are kept under it, and a leg that is gone on with
repeats none."""


@dataclass(frozen=True)
class LegRequest:
    """What one leg is asked for.

    Attributes:
        name: what its bundle is called by: the key of its night, alone or with a dot and what the leg is made of that its header does not
            say.
        header: what its batch declares; the scenarios in it say how often each runs.
        scenarios: what is run: with a `replay` in a replay leg, without one in a live leg.
        open_agent: opens what makes the runs.
        max_cost_usd: the spend cap; None for none.
    """

    name: str
    header: BatchHeader
    scenarios: tuple[Scenario, ...]
    open_agent: OpenAgent
    max_cost_usd: float | None = None

    @property
    def leg(self) -> Leg:
        """Which half of the night it is; a leg is of one kind."""
        return "live" if any(scenario.replay is None for scenario in self.scenarios) else "replay"


class StoredLeg(NamedTuple):
    """A leg that ended: its batch, its runs by scenario, how many runs were made by this process, and the size of all that it recorded."""

    batch: Batch
    runs: LegRuns
    made: int
    stored_bytes: int


async def record_leg(
    request: LegRequest, context: RunsContext, *, folder: Path, actor: str, clock: Clock, on_progress: OnProgress
) -> StoredLeg:
    """Make the runs of a leg that its bundle does not hold yet, and store it as a batch; storing it twice stores it once.

    Args:
        request: what is asked for; it has a scenario.
        context: where batches and trajectories go.
        folder: where the bundles of nights lie.
        actor: who stores it, for the audit.
        clock: says when runs end.
        on_progress: told of each finished run.

    Raises:
        BundleInUseError: another process is recording this leg.
        StorageError: what is finished could not be kept or stored; the same request goes on from there.
    """
    path = leg_path(folder, request.name, request.header, request.leg)
    is_there = path.exists() and not nothing_recorded(path)
    made = 0 if is_there and read_bundle(path).is_finished else await _recorded(request, path, clock, on_progress, goes_on=is_there)
    summary = read_bundle(path)
    settings = context.project.settings
    added = push_bundle(
        path,
        project=settings.project,
        tenant=settings.tenant,
        batches=context.batches,
        store=context.objects,
        actor=actor,
        now=clock.now(),
    )
    runs = leg_runs(summary.runs, (scenario.id for scenario in request.scenarios))
    return StoredLeg(added.batch, runs, made, path.stat().st_size)


def leg_header(
    scenario_set: ScenarioSet,
    scenarios: Iterable[Scenario],
    leg: Leg,
    *,
    project: Project,
    identity: AgentIdentity,
    runs: int,
    now: datetime,
    commit: str | None = None,
) -> BatchHeader:
    """Return what the batch of a leg declares: no gate policy, since a night has a rule of its own, and the structural judge alone.

    Args:
        scenario_set: the scenarios and their tiers.
        scenarios: those of this leg.
        leg: which half of the night it is; a replay runs once.
        project: whose.
        identity: who acts.
        runs: live runs of each scenario.
        now: when the leg begins.
        commit: of the agent's repository, where it is known.
    """
    return BatchHeader(
        tenant=project.settings.tenant,
        project=project.settings.project,
        commit=commit,
        agent=identity.agent,
        model=identity.model,
        judge=STRUCTURAL_JUDGE,
        origin="night",
        recorded_at=now,
        scenario_set_digest=scenario_set.digest,
        scenarios={
            scenario.id: PlannedScenario(
                tier=scenario_set.tier(scenario),
                tolerance=scenario.path_tolerance,
                planned_runs=runs if leg == "live" else 1,
                leg=leg,
            )
            for scenario in scenarios
        },
    )


def nights_folder(project: Project) -> Path:
    """Return where the bundles of a project's nights lie."""
    return project.state_folder / NIGHTS_FOLDER


def leg_path(folder: Path, name: str, header: BatchHeader, leg: Leg) -> Path:
    """Return the bundle of a night's leg: one of its own for each agent, commit and set of scenarios, should they change."""
    return folder / f"{name}.{leg}.{header.digest.removeprefix('sha256:')[:8]}.jsonl"


def remove_legs(folder: Path, night_key: str) -> None:
    """Remove the bundles of a night that has ended; what is not there is fine."""
    for path in folder.glob(f"{night_key}.*.jsonl"):
        with suppress(OSError):
            path.unlink()


def nights_with_legs(folder: Path) -> Iterator[str]:
    """Iterate over the keys of the nights that have bundles, each once."""
    yield from dict.fromkeys(found[0] for path in folder.glob("*.jsonl") if (found := NIGHT_OF_BUNDLE.match(path.name)) is not None)


def is_being_recorded(folder: Path, night_key: str) -> bool:
    """Say whether a process of this machine is recording a leg of the night."""
    for path in folder.glob(f"{night_key}.*.jsonl"):
        try:
            with path.open("r+b", buffering=0) as file:
                locked(file, path)
        except BundleInUseError:
            return True
        except OSError:  # it was removed just now
            continue
    return False


def refuse_while_recorded(folder: Path, night_key: str) -> None:
    """Do nothing where nobody is recording a leg of the night: who takes it over fences off who is at it, so that neither would end it.

    Raises:
        BundleInUseError: a process of this machine is.
    """
    if is_being_recorded(folder, night_key):
        raise BundleInUseError(f"the night {night_key} is being recorded by another process.")


def can_go_on(folder: Path, night_key: str, header: BatchHeader, leg: Leg) -> bool:
    """Say whether a night that was left has a bundle of this very leg that nobody is recording into: a rerun saves what it holds."""
    path = leg_path(folder, night_key, header, leg)
    try:
        if not path.exists() or nothing_recorded(path):
            return False
        if not read_bundle(path).is_finished:
            claimed_bundle(path).close()
    except BundleError:  # in use, or damaged
        return False
    return True


def holds_only(folder: Path, night_key: str, leg: Leg, is_asked: Callable[[BatchHeader], bool]) -> bool:
    """Say whether every bundle of a night's leg can be read and is asked for: a rerun leaves no other runs behind, and meets no damage."""
    for path in folder.glob(f"{night_key}.{leg}.*.jsonl"):
        try:
            if not nothing_recorded(path) and not is_asked(read_bundle(path).header):
                return False
        except BundleError:
            return False
    return True


async def _recorded(request: LegRequest, path: Path, clock: Clock, on_progress: OnProgress, *, goes_on: bool) -> int:
    recording = (read_recording(path) if goes_on else None) or secrets.token_hex(16)
    async with request.open_agent(recording) as agent:
        with claimed_bundle(path).gone_on_with() if goes_on else new_bundle(path, request.header, recording=recording) as bundle:
            recorded = await record_runs(
                RunPlan(
                    scenarios=request.scenarios,
                    planned=request.header.scenarios,
                    concurrency=agent.concurrency,
                    max_cost_usd=request.max_cost_usd,
                ),
                bundle,
                kept=read_bundle(path).runs,
                agent_of=lambda scenario: agent,
                grade=RunGrader(),
                clock=clock,
                on_progress=on_progress,
            )
    return recorded.made
