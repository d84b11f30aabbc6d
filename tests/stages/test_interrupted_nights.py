"""Nights whose process died, or whose schedule changed before they were through: what is gone on with, what is not, and what is left."""

import fcntl
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from evalplatform.kernel.errors import BundleInUseError, MonitoringError, StorageUnavailableError
from evalplatform.ports.clock import Clock
from evalplatform.ports.monitoring import MonitoringStore
from evalplatform.runs.night import Night
from evalplatform.runs.schedule import Pin
from evalplatform.stages.due_nights import DueNights, NightToRun, due_nights
from evalplatform.stages.night_legs import nights_folder
from tests.support.monitored_project import FIRST, MonitoredProject
from tests.support.night_runs import Runs, night_of
from tests.support.planned_agent import PlannedAgent
from tests.support.recorded_batches import recorded


def test_a_night_that_died_at_its_very_end_asks_nobody_again(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    one = first_due(monitored)
    die_at_the_end(monitored, one)
    agent.behave(refund="F")
    night = run(monitored, one._replace(attempt=2))
    assert (night.state, night.attempt, agent.asked) == ("checked_clean", 2, [])
    assert bundles(monitored) == []


def test_a_night_that_died_is_not_gone_on_with_at_another_endpoint(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    one = first_due(monitored)
    die_at_the_end(monitored, one)
    monitored.schedule(endpoint_url=f"{agent.url}?agent=next")
    agent.behave(refund="F")
    night = run(monitored, one._replace(attempt=2))
    assert (night.state, len(agent.asked)) == ("checked_flagged", 8)


def test_a_night_that_died_is_compared_with_the_run_that_is_pinned_by_now(monitored: MonitoredProject) -> None:
    one = first_due(monitored)
    die_at_the_end(monitored, one)
    (batch,) = monitored.runs.push(recorded({"refund": "F", "cancel": "P"}, days_ago=1))
    with monitored.monitoring() as context:
        pins = tuple(
            Pin(scenario_id=stored.scenario_id, batch_id=batch.id, run_id=stored.id, trajectory_digest=stored.trajectory_digest or "")
            for stored in context.runs.batches.runs(batch.id)
        )
    monitored.schedule(pins=pins)
    night = run(monitored, one._replace(attempt=2))
    assert [(dead.scenario_id, dead.dead and dead.dead.kind) for dead in night.dead_sensors] == [("refund", "no_longer_passes")]


def test_a_night_whose_time_ran_out_before_anything_was_seen_is_no_drift_whichever_attempt_tells(
    monitored: MonitoredProject, agent: PlannedAgent
) -> None:
    one = first_due(monitored)
    die_at_the_end(monitored, one, clock=HurriedClock)
    night = run(monitored, one._replace(attempt=2))
    assert (night.state, night.reason, night.drifted) == ("check_failed", "budget", ())
    assert night.detail == "the night's time ran out before every scenario was seen."
    assert agent.asked == []


def test_what_a_night_leaves_behind_that_died_after_its_end_is_removed(monitored: MonitoredProject) -> None:
    one = first_due(monitored)
    run(monitored, one)
    with monitored.monitoring() as context:
        folder = nights_folder(context.project)
    names = [f"{one.key}.0123abcd.live.0123abcd.jsonl", "checkout.20261210t023000z-2026-12-10.replay.0123abcd.jsonl"]
    for name in names:
        (folder / name).write_text("")
    with monitored.monitoring() as context:
        assert due_nights(context, Runs()) == DueNights((), ())
    assert bundles(monitored) == names[1:], "of a night that has not ended they are kept"


def test_an_agent_whose_schedule_was_paused_before_its_night_began_is_not_asked(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    one = first_due(monitored)
    monitored.schedule(is_on=False)
    with pytest.raises(MonitoringError) as refused:
        run(monitored, one)
    assert refused.value.code == "schedule_changed"
    assert (agent.asked, monitored.nights()) == ([], []), "paused time is never missed"


def test_a_night_that_is_still_being_recorded_is_not_taken_over(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    one = first_due(monitored)
    die_at_the_end(monitored, one)
    asked = len(agent.asked)
    with monitored.monitoring() as context:
        folder = nights_folder(context.project)
    with (folder / bundles(monitored)[0]).open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(BundleInUseError, match="another process"):
            run(monitored, one._replace(attempt=2))
    (left,) = monitored.nights()
    assert (left.state, left.attempt) == ("pending", 1), "the attempt that is at it can end it"
    assert len(agent.asked) == asked


class DyingStore:
    """A store that takes everything but the end of a night, as if the process died there."""

    def __init__(self, store: MonitoringStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def finish(self, night: Night) -> bool:
        raise StorageUnavailableError("the process dies here.")


class HurriedClock:
    """A clock of which ten minutes pass with every look."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def monotonic_seconds(self) -> float:
        self._looks += 1
        return self._clock.monotonic_seconds() + 600 * self._looks


def die_at_the_end(monitored: MonitoredProject, one: NightToRun, *, clock: Callable[[Clock], Any] = lambda clock: clock) -> None:
    """Run a night whose process dies before it has stored the end."""
    with monitored.monitoring() as whole:
        context = replace(whole, store=DyingStore(whole.store), clock=clock(whole.clock))
        with pytest.raises(StorageUnavailableError):
            night_of(context, one)


def bundles(monitored: MonitoredProject) -> list[str]:
    """The names of the bundles of nights."""
    return sorted(path.name for path in nights_folder(monitored.runs.project).glob("*"))


def first_due(monitored: MonitoredProject) -> NightToRun:
    """Save a schedule, and return its first night, which is due."""
    monitored.schedule()
    monitored.at(FIRST + timedelta(minutes=1))
    with monitored.monitoring() as context:
        (one,) = due_nights(context, Runs()).to_run
    return one


def run(monitored: MonitoredProject, one: NightToRun) -> Night:
    with monitored.monitoring() as context:
        return night_of(context, one)
