"""A project with an agent side under Dagster, in a folder of the test's own: batches are pushed, and taken up from there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg

from assets.runs_materialized import runs_key
from evalplatform.definitions import build_definitions
from evalplatform.project.load import PROJECT_FILE_NAME, Project, load_project
from evalplatform.runs.bundle import BundleSummary, new_bundle
from evalplatform.runs.records import Batch
from evalplatform.stages.push import push_bundle
from evalplatform.wiring import OpenedProject
from sensors.batches import recorded_batches_sensor
from tests.support.recorded_batches import NOW, OUTCOMES, recorded, trajectory

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
LETTERS = {outcome: letter for letter, outcome in OUTCOMES.items()}
SCENARIOS = """\
version: 1
scenarios:
  - id: refund
    messages: [When does my refund arrive?]
    assertions:
      - tool_called: lookup
"""


@dataclass
class RunsProject:
    """A project that has nothing but batches, and the Dagster instance that its assets are materialized in."""

    folder: Path
    instance: dg.DagsterInstance = field(default_factory=dg.DagsterInstance.ephemeral)

    @classmethod
    def written_to(cls, folder: Path, *, scenarios: str | None = None) -> "RunsProject":
        folder.mkdir(parents=True)
        named = "" if scenarios is None else "scenarios: scenarios.yaml\n"
        (folder / PROJECT_FILE_NAME).write_text(f"version: 1\nproject: probe\n{named}")
        if scenarios is not None:
            (folder / "scenarios.yaml").write_text(scenarios)
        return cls(folder)

    @property
    def file(self) -> Path:
        return self.folder / PROJECT_FILE_NAME

    @property
    def project(self) -> Project:
        return load_project(self.file)

    @property
    def definitions(self) -> dg.Definitions:
        return build_definitions(self.project)

    def opened(self) -> OpenedProject:
        return OpenedProject(self.project)

    def bundle(self, summary: BundleSummary) -> Path:
        """Record a batch as a bundle, as `evalplatform run` does, and return its path."""
        path = self.folder / "bundles" / f"{summary.batch.id}.jsonl"
        with new_bundle(path, summary.header) as bundle:
            for run in summary.runs:
                bundle.add(run, None if run.trajectory_digest is None else trajectory(LETTERS[run.outcome]))
            bundle.finish(truncated_reason=summary.truncated_reason)
        return path

    def push(self, *summaries: BundleSummary) -> list[Batch]:
        """Store batches, and return them as they are stored."""
        with self.opened() as opened:
            return [
                push_bundle(
                    self.bundle(summary),
                    project="probe",
                    tenant="default",
                    batches=opened.batch_store,
                    store=opened.store,
                    actor="tester",
                    now=opened.clock.now(),
                ).batch
                for summary in summaries
            ]

    def push_recent(self, *scenarios: Mapping[str, str], **header: Any) -> list[Batch]:
        """Store batches of the last hours by the clock of this machine, the first one the newest."""
        with self.opened() as opened:
            age_days = (NOW - opened.clock.now()).total_seconds() / 86_400
        return self.push(*(recorded(one, days_ago=age_days + (1 + place) / 24, **header) for place, one in enumerate(scenarios)))

    def look(self, cursor: str | None = None) -> dg.SensorResult:
        """One tick of the sensor; the partitions that it adds are there afterwards, as the daemon does it."""
        with dg.build_sensor_context(instance=self.instance, definitions=self.definitions, cursor=cursor) as context:
            data = recorded_batches_sensor(self.file).evaluate_tick(context)
        for request in data.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
        return dg.SensorResult(
            run_requests=data.run_requests,
            skip_reason=data.skip_message,
            cursor=data.cursor,
            dynamic_partitions_requests=list(data.dynamic_partitions_requests or []),
        )

    def run(self, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
        """Execute what the sensor asks for, as the daemon would launch it."""
        job = self.definitions.resolve_job_def("compare_batches")
        return job.execute_in_process(
            partition_key=request.partition_key,
            asset_selection=list(request.asset_selection or []),
            instance=self.instance,
            run_config=QUIET,
            raise_on_error=False,  # the run of a gate that fails does; the daemon goes on
        )

    def materialize(self, names: Iterable[str], batch: Batch | None = None, *, raise_on_error: bool = True) -> dg.ExecuteInProcessResult:
        definitions = self.definitions
        return dg.materialize(
            list(definitions.assets or []),
            selection=[runs_key(name) for name in names],
            partition_key=None if batch is None else batch.id,
            resources=definitions.resources,
            instance=self.instance,
            run_config=QUIET,
            raise_on_error=raise_on_error,
        )

    def register(self, *batches: Batch) -> None:
        self.instance.add_dynamic_partitions("runs.batches", [batch.id for batch in batches])
