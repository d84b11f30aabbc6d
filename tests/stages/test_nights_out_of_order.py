"""Nights that end in another order than they were due, and attempts that were overtaken: what is told, and what stays."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from evalplatform.monitoring.slots import slot_at
from evalplatform.ports.monitoring import MonitoringStore
from evalplatform.runs.night import Night, NightState
from evalplatform.stages.deliver_alerts import report_link
from evalplatform.stages.due_nights import due_nights
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_end import finish_night
from evalplatform.stages.night_legs import nights_folder
from evalplatform.stages.night_reports import materialize_night, night_link
from evalplatform.stages.scenario_sets import current_scenarios
from evalplatform.stages.sentinel import SentinelRequest, run_sentinel
from tests.support.monitored_project import FIRST, MonitoredProject
from tests.support.night_runs import Runs, night_of
from tests.support.planned_agent import PlannedAgent

STATES: dict[str, NightState] = {"c": "checked_clean", "f": "checked_flagged", "x": "check_failed"}


@pytest.mark.parametrize(
    ("before", "later", "late", "told", "told_next"),
    [
        ("c", "c", "x", (None, None), {"c": None, "f": "drift_detected"}),  # it is fine since: nobody is alarmed afterwards
        ("c", "f", "f", ("drift_detected", None), {"c": "recovered"}),  # one drift is told once
        ("c", "c", "f", (None, None), {"c": None, "f": "drift_detected"}),
        ("f", "c", "f", ("recovered", None), {"c": None, "f": "drift_detected"}),
        ("c", "x", "f", ("monitor_failed", "drift_detected"), {"c": "recovered", "f": None}),  # it is what was last checked
        ("f", "x", "c", ("monitor_failed", "recovered"), {"c": None, "f": "drift_detected"}),
        ("c", "x", "x", ("monitor_failed", None), {"c": None, "x": None}),
    ],
)
def test_a_night_that_ends_after_a_later_one_tells_only_what_it_changes(
    monitored: MonitoredProject, before: str, later: str, late: str, told: tuple[str | None, str | None], told_next: dict[str, str | None]
) -> None:
    for next_state, next_told in told_next.items():
        hours = iter(range(4))
        with monitored.monitoring() as context:
            stream = f"night-{next_state}"
            end(begun(context, next(hours), stream), before, context)
            overtaken = begun(context, next(hours), stream)
            assert kind(end(begun(context, next(hours), stream), later, context)) == told[0]
            assert kind(end(overtaken, late, context)) == told[1]
            assert kind(end(begun(context, next(hours), stream), next_state, context)) == next_told


def test_a_message_links_to_the_report_of_its_own_night_and_to_no_other_of_the_day(monitored: MonitoredProject) -> None:
    with monitored.monitoring() as context:
        by_day, by_hand = (
            Night(source="sentinel", stream="sentinel", slot=slot_at(FIRST + timedelta(hours=hours), "UTC"), state=state)
            for hours, state in ((0, STATES["c"]), (9, STATES["f"]))
        )
        assert report_link(context, by_day) is None, "no report was made of it"
        materialize_night(context, by_day)
        assert report_link(context, by_day) == night_link(context, by_day)
        assert report_link(context, by_hand) is None


def test_a_night_of_its_own_takes_no_other_over_that_began_in_the_same_second(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    with monitored.monitoring() as context:
        slot = slot_at(FIRST, "UTC")
        assert context.store.begin(Night(source="sentinel", stream="sentinel", slot=slot, began_at=context.clock.now())).is_ours
        request = SentinelRequest(scenario_set=current_scenarios(context.runs), slot=slot, runs=1, fail_rate=0.1, goes_on=False)
        night = asyncio.run(run_sentinel(context, request, on_progress=lambda progress: None))
        assert (night.state, night.attempt, agent.asked) == ("pending", 1, [])
        gone_on = asyncio.run(run_sentinel(context, replace(request, goes_on=True), on_progress=lambda progress: None))
        assert (gone_on.state, gone_on.attempt) == ("checked_clean", 2)


def begun(context: MonitoringContext, hours: int, stream: str) -> Night:
    at = FIRST + timedelta(hours=hours)
    night = Night(source="monitor", stream=stream, slot=slot_at(at, "UTC"), began_at=at)
    assert context.store.begin(night).is_ours
    return night


def end(night: Night, letter: str, context: MonitoringContext) -> Night:
    ended = night.with_changes(state=STATES[letter], reason="missed_slot" if letter == "x" else None)
    return finish_night(context, ended, recipients=["ann@example.com"])


def kind(night: Night) -> str | None:
    return None if night.alert is None else night.alert.kind


def test_an_attempt_that_was_overtaken_leaves_the_next_one_what_is_recorded(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    monitored.schedule()
    monitored.at(FIRST + timedelta(minutes=1))
    with monitored.monitoring() as whole:
        (one,) = due_nights(whole, Runs()).to_run
        night_of(replace(whole, store=OvertakenStore(whole.store)), one)
        asked = len(agent.asked)
        assert list(nights_folder(whole.project).glob(f"{one.key}.*")), "the attempt that has the night goes on with these"
        ended = night_of(whole, one._replace(attempt=3))
    assert (ended.state, ended.attempt, len(agent.asked)) == ("checked_clean", 3, asked)


class OvertakenStore:
    """A store in which another attempt takes a night over just before it ends."""

    def __init__(self, store: MonitoringStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def finish(self, night: Night) -> bool:
        pending = night.with_changes(state="pending", attempt=night.attempt + 1, reason=None, alert=None, ended_at=None, cost=None)
        assert self._store.begin(pending).is_ours
        return self._store.finish(night)
