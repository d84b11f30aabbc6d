"""What the stages of monitoring are given."""

from dataclasses import dataclass

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import UNPARTITIONED, ArtifactId
from evalplatform.ports.clock import Clock
from evalplatform.ports.monitored_agent import OpenMonitoredAgent
from evalplatform.ports.monitoring import MonitoringStore
from evalplatform.ports.notifier import Notifier
from evalplatform.ports.vault import Vault
from evalplatform.project.load import Project
from evalplatform.stages.run_batch import RunPorts
from evalplatform.stages.runs_context import RunsContext

MONITORING = "monitoring"
"""What stands in place of a suite in the names of monitoring's artifacts."""


@dataclass(frozen=True)
class MonitoringContext:
    """The monitoring side of an opened project.

    Attributes:
        project: the project.
        runs: its batches, trajectories and artifacts.
        store: its schedules and nights.
        vault: opens stored Authorization values.
        notifier: takes alerts to people.
        open_monitored_agent: opens the agent of a schedule.
        run_ports: opens the agent and the recordings of the scenario file, for the sentinel.
        clock: says when it is.
    """

    project: Project
    runs: RunsContext
    store: MonitoringStore
    vault: Vault
    notifier: Notifier
    open_monitored_agent: OpenMonitoredAgent
    run_ports: RunPorts
    clock: Clock

    @property
    def catalog(self) -> ArtifactCatalog:
        """The project's artifacts."""
        return self.runs.catalog

    def artifact(self, asset: str, partition: str = UNPARTITIONED) -> ArtifactId:
        """Return the id of one of monitoring's artifacts."""
        return ArtifactId(suite=MONITORING, asset=asset, partition=partition)
