"""Nights of a schedule without Dagster: an orchestrator that knows what the test says, and one night run to its end."""

import asyncio
from dataclasses import dataclass, field

from evalplatform.runs.night import Night
from evalplatform.stages.due_nights import NightToRun
from evalplatform.stages.monitor_night import run_monitor_night
from evalplatform.stages.monitoring_context import MonitoringContext


@dataclass
class Runs:
    """What an orchestrator knows: nights under way, and how many runs of each are over."""

    under_way: set[str] = field(default_factory=set)
    ended: dict[str, int] = field(default_factory=dict)

    def is_under_way(self, night_key: str) -> bool:
        return night_key in self.under_way

    def ended_attempts(self, night_key: str) -> int:
        return self.ended.get(night_key, 0)


def night_of(context: MonitoringContext, one: NightToRun) -> Night:
    """Run a night, and return it."""
    ran = run_monitor_night(context, one.stream, one.slot, attempt=one.attempt, actor="tester", on_progress=lambda progress: None)
    return asyncio.run(ran)
