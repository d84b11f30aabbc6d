"""What the stages of the agent side are given: the project, its batches, and where artifacts and trajectories lie."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import UNPARTITIONED, ArtifactId, ArtifactManifest
from evalplatform.kernel.errors import InputError
from evalplatform.ports.agent_runner import AgentRunner
from evalplatform.ports.batches import BatchStore
from evalplatform.ports.clock import Clock
from evalplatform.ports.gates import GateStore
from evalplatform.ports.object_store import ObjectStore
from evalplatform.project.load import Project

RUNS = "runs"
"""What stands in place of a suite in the names of the agent side's artifacts: a project has one set of scenarios."""


@dataclass(frozen=True)
class RunsContext:
    """The agent side of an opened project. `objects` holds the trajectories, by digest; `open_replay` opens what replays recordings: the
    file of each scenario, by id."""

    project: Project
    batches: BatchStore
    gates: GateStore
    catalog: ArtifactCatalog
    objects: ObjectStore
    clock: Clock
    open_replay: Callable[[Mapping[str, Path]], AgentRunner]

    def artifact(self, asset: str, partition: str = UNPARTITIONED) -> ArtifactId:
        """Return the id of one of the agent side's artifacts."""
        return ArtifactId(suite=RUNS, asset=asset, partition=partition)

    def upstream(self, asset: str, partition: str = UNPARTITIONED) -> ArtifactManifest:
        """Return the current version of an artifact, or raise InputError where it was never materialized."""
        manifest = self.catalog.current(self.artifact(asset, partition))
        if manifest is None:
            where = "" if partition == UNPARTITIONED else f" of {partition}"
            raise InputError(f"there is no {asset}{where} yet; materialize {asset} first.")
        return manifest
