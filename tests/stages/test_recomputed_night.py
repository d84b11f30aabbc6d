"""Nights of a schedule computed again: whatever became of one, the batches of its legs say what is stored of it."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from evalplatform.monitoring.slots import slot_at
from evalplatform.runs.night import Night
from evalplatform.stages.monitor_night import run_monitor_night
from evalplatform.stages.recomputed_night import recomputed_night
from tests.support.monitored_project import FIRST, MonitoredProject
from tests.support.planned_agent import PlannedAgent, running_agent


@pytest.fixture
def agent() -> Iterator[PlannedAgent]:
    with running_agent() as served:
        yield served


def night(monitored: MonitoredProject, day: int) -> Night:
    at = FIRST + timedelta(days=day)
    monitored.at(at + timedelta(minutes=1))
    with monitored.monitoring() as context:
        run = run_monitor_night(context, "checkout", slot_at(at, "UTC"), attempt=1, actor="tester", on_progress=lambda progress: None)
        return asyncio.run(run)


def test_clean_flagged_unreachable_and_dead_nights_are_all_computed_to_what_is_stored(
    tmp_path: Path, agent: PlannedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitored = MonitoredProject.written_to(tmp_path / "project", agent, monkeypatch)
    monitored.schedule()
    nights = []
    for day, plan in enumerate(({}, {"refund": "FFXF", "cancel": "PH"}, {"refund": "H", "cancel": "H"})):
        agent.behave(**plan)
        nights.append(night(monitored, day))
    agent.behave()
    scenarios = monitored.runs.folder / "scenarios.yaml"
    gone, failing = "- id: refund", "- id: cancel"
    text = scenarios.read_text()
    at = text.index(failing)
    scenarios.write_text(text[:at].replace(gone, "- id: refunds") + text[at:].replace("May", "June"))
    nights.append(night(monitored, 3))
    scenarios.write_text(text[:at] + text[at:].replace("May", "June"))
    nights.append(night(monitored, 4))
    assert [one.state for one in nights] == ["checked_clean", "checked_flagged", "check_failed", "check_failed", "check_failed"]
    assert [one.reason for one in nights[2:]] == ["endpoint_unreachable", "dead_sensor", "dead_sensor"]
    assert nights[3].live_batch is None, "no scenario was alive"
    with monitored.monitoring() as context:
        for stored in nights:
            again = recomputed_night(context, stored.key)
            assert (again.scenarios, again.differing) == (stored.scenarios, ())
