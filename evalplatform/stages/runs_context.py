"""What the stages of the agent side are given: the project, its batches, and where artifacts and trajectories lie."""

from dataclasses import dataclass

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import UNPARTITIONED, ArtifactId
from evalplatform.ports.batches import BatchStore
from evalplatform.ports.clock import Clock
from evalplatform.ports.object_store import ObjectStore
from evalplatform.project.load import Project

RUNS = "runs"
"""What stands in place of a suite in the names of the agent side's artifacts: a project has one set of scenarios."""


@dataclass(frozen=True)
class RunsContext:
    """The agent side of an opened project. `objects` holds the trajectories, by digest."""

    project: Project
    batches: BatchStore
    catalog: ArtifactCatalog
    objects: ObjectStore
    clock: Clock

    def artifact(self, asset: str, partition: str = UNPARTITIONED) -> ArtifactId:
        """Return the id of one of the agent side's artifacts."""
        return ArtifactId(suite=RUNS, asset=asset, partition=partition)
