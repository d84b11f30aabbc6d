"""A project with scenarios, pinned runs and an agent behind real HTTP, under Dagster, at a time that the test sets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.monitoring_materialized import monitoring_key
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.night import Night
from evalplatform.runs.records import Batch
from evalplatform.runs.schedule import DAY_SECONDS, Pin, Schedule
from evalplatform.stages.monitoring_context import MonitoringContext
from tests.support.planned_agent import PlannedAgent
from tests.support.recorded_batches import recorded
from tests.support.runs_project import QUIET, RunsProject

FIRST = datetime(2026, 12, 1, 2, 30, tzinfo=UTC)
SCENARIOS = """\
version: 1
agent:
  http: {{url: "{url}"}}
scenarios:
  - id: refund
    messages: [When does my refund arrive?]
    path_tolerance: tool_set
    assertions:
      - final_text_contains: May
  - id: cancel
    messages: [When does my refund arrive?]
    path_tolerance: tool_set
    assertions:
      - final_text_contains: May
"""


@dataclass
class MonitoredProject:
    """The project, its agent, and the Dagster instance that its nights are run in."""

    runs: RunsProject
    agent: PlannedAgent
    monkeypatch: pytest.MonkeyPatch
    batch: Batch
    offset_seconds: float = 0.0

    @classmethod
    def written_to(cls, folder: Path, agent: PlannedAgent, monkeypatch: pytest.MonkeyPatch) -> "MonitoredProject":
        monkeypatch.setenv("EVALPLATFORM_MONITORED_HTTP", "1")
        monkeypatch.setenv("EVALPLATFORM_MONITORED_HOSTS", "127.0.0.1")
        runs = RunsProject.written_to(folder, scenarios=SCENARIOS.format(url=agent.url))
        (batch,) = runs.push(recorded({"refund": "P", "cancel": "P"}, days_ago=1))
        project = cls(runs, agent, monkeypatch, batch)
        project.at(FIRST - timedelta(hours=1))
        return project

    def at(self, moment: datetime) -> None:
        """Set the deployment's clock."""
        self.offset_seconds = (moment - datetime.now(UTC)).total_seconds()
        self.monkeypatch.setenv("EVALPLATFORM_CLOCK_OFFSET_SECONDS", str(self.offset_seconds))

    @contextmanager
    def monitoring(self) -> Iterator[MonitoringContext]:
        with self.runs.opened() as opened:
            yield opened.monitoring_context()

    def schedule(self, name: str = "checkout", **changes: Any) -> Schedule:
        """Save a schedule that is on, of both scenarios."""
        with self.monitoring() as monitoring:
            pins = tuple(
                Pin(scenario_id=run.scenario_id, batch_id=self.batch.id, run_id=run.id, trajectory_digest=run.trajectory_digest or "")
                for run in monitoring.runs.batches.runs(self.batch.id)
            )
            saved_at = FIRST - timedelta(hours=1)
            fields: dict[str, Any] = {
                "pins": pins,
                "runs": 4,
                "cadence_seconds": DAY_SECONDS,
                "first_at": FIRST,
                "endpoint_url": self.agent.url,
                "recipients": ("ann@example.com",),
                "active_since": saved_at,
                "saved_by": "tester",
                "saved_at": saved_at,
                **changes,
            }
            schedule = Schedule(id=name, **fields)
            before = monitoring.store.schedule(name)
            entry = AuditEntry(actor="tester", action="monitoring.schedule_saved", subject=name, happened_at=saved_at)
            monitoring.store.save(schedule, replaces=before, entry=entry)
            return schedule

    def nights(self, stream: str = "checkout") -> list[Night]:
        """The nights of a stream, oldest first."""
        with self.monitoring() as monitoring:
            return list(monitoring.store.nights(stream=stream))[::-1]

    @property
    def instance(self) -> dg.DagsterInstance:
        return self.runs.instance

    @cached_property
    def definitions(self) -> dg.Definitions:
        """The project's definitions, built once: its files do not change."""
        return self.runs.definitions

    def look(self, sensor: dg.SensorDefinition, cursor: str | None = None) -> dg.SensorResult:
        """One tick of a sensor, with what the daemon does of it: partitions are added, events recorded."""
        with dg.build_sensor_context(instance=self.instance, definitions=self.definitions, cursor=cursor) as context:
            data = sensor.evaluate_tick(context)
        for request in data.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
        for event in data.asset_events:
            self.instance.report_runless_asset_event(event)
        return dg.SensorResult(run_requests=data.run_requests, skip_reason=data.skip_message, cursor=data.cursor)

    def run(self, request: dg.RunRequest, job: str) -> dg.ExecuteInProcessResult:
        """Execute what was asked for, as the daemon would launch it."""
        return self.definitions.resolve_job_def(job).execute_in_process(
            partition_key=request.partition_key,
            asset_selection=list(request.asset_selection) if request.asset_selection else None,
            tags=dict(request.tags or {}),
            instance=self.instance,
            run_config=QUIET,
            raise_on_error=False,
        )

    def failure(self, result: dg.ExecuteInProcessResult) -> str:
        """What a run failed of, as its steps say it; empty where it did not."""
        return "\n".join(str(event.event_specific_data) for event in result.all_events if event.is_failure)

    def made(self, asset: str) -> set[str]:
        """The partitions of an asset of monitoring that Dagster knows as materialized."""
        return self.instance.get_materialized_partitions(monitoring_key(asset))

    def passed(self, asset: str, check: str, partition: str | None = None) -> bool:
        """What a check of an asset of monitoring last found; it fails the test where it was never made."""
        key = dg.AssetCheckKey(monitoring_key(asset), check)
        records = self.instance.event_log_storage.get_asset_check_execution_history(key, limit=20)
        events = (record.event.dagster_event for record in records if record.event is not None)
        found = [event.event_specific_data for event in events if event is not None]
        return next(one.passed for one in found if isinstance(one, dg.AssetCheckEvaluation) and one.partition == partition)
