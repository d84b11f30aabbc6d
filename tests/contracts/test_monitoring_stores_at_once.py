"""What every monitoring store promises where several are at one night, one schedule or one alert at once, and where they are killed."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Literal, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalplatform.adapters.monitoring.open import open_monitoring_store
from evalplatform.adapters.monitoring.sql import SqlMonitoringStore
from evalplatform.kernel.errors import InputError
from evalplatform.ports.monitoring import ProjectSchedule
from evalplatform.runs.night import Night
from tests.support.killed_monitoring_writes import WRITES
from tests.support.monitoring_values import ENTRY, OPEN_ALERT, ended, header, night, schedule

REPOSITORY = Path(__file__).parents[2]
AT_ONCE = 5
ROUNDS = 4
HOURS = count()
Done = TypeVar("Done")
Write = Callable[[SqlMonitoringStore], Done]
Act = Literal["begin", "finish", "record"]


@pytest.fixture
def stores(url: str) -> Iterator[list[SqlMonitoringStore]]:
    """One store for each that is at it at once, each with connections of its own."""
    with ExitStack() as opened:
        stores = [open_monitoring_store(url, project="probe", tenant="default") for _ in range(AT_ONCE)]
        for store in stores:
            opened.callback(store.close)
        yield stores


def at_once(stores: Sequence[SqlMonitoringStore], *writes: Write[Done]) -> list[Done]:
    """What each write came to, all begun together, each through a store of its own."""
    start = Barrier(len(writes))

    def begun(store: SqlMonitoringStore, write: Write[Done]) -> Done:
        start.wait(timeout=30)
        return write(store)

    with ThreadPoolExecutor(len(writes)) as pool:
        return [future.result() for future in [pool.submit(begun, store, write) for store, write in zip(stores, writes, strict=False)]]


def saved(store: SqlMonitoringStore, write: Write[None]) -> bool:
    try:
        write(store)
    except InputError:
        return False
    return True


def test_of_those_that_begin_one_slot_at_once_one_has_the_night_and_the_others_see_it(stores: list[SqlMonitoringStore]) -> None:
    for hours in range(ROUNDS):
        first, again = night(hours=hours), night(hours=hours, attempt=2, runs_per_scenario=2)
        for wanted in (first, again):  # the second is a take-over of the first
            begun = at_once(stores, *[lambda store, wanted=wanted: store.begin(wanted)] * AT_ONCE)
            assert sorted(one.is_ours for one in begun) == [False] * (AT_ONCE - 1) + [True]
            assert {one.night for one in begun} == {wanted}
    assert len(stores[0].pending()) == ROUNDS


def test_a_night_that_begins_while_it_is_recorded_as_missed_is_one_of_both(stores: list[SqlMonitoringStore]) -> None:
    for hours in range(ROUNDS):
        missed = ended(night(hours=hours), state="check_failed", reason="missed_slot")
        begun, recorded = at_once(stores, lambda store, h=hours: store.begin(night(hours=h)).night, lambda store, m=missed: store.record(m))
        assert begun == recorded == stores[0].night(missed.key)


def test_an_attempt_that_is_overtaken_while_it_ends_has_ended_it_or_changes_nothing(stores: list[SqlMonitoringStore]) -> None:
    for hours in range(ROUNDS):
        first, second = night(hours=hours), night(hours=hours, attempt=2)
        stores[0].begin(first)
        has_ended, has_overtaken = at_once(
            stores, lambda store, one=first: store.finish(ended(one)), lambda store, one=second: store.begin(one).is_ours
        )
        assert has_ended != has_overtaken
        assert stores[0].night(first.key) == (ended(first) if has_ended else second)
        assert not stores[0].finish(ended(first, state="checked_flagged")), "whoever was overtaken, or has ended it, can end it no more"


def test_of_those_that_take_one_alert_at_once_one_has_it(stores: list[SqlMonitoringStore]) -> None:
    for hours in range(ROUNDS):
        told = ended(night(hours=hours), alert=OPEN_ALERT)
        stores[0].record(told)
        claims = [OPEN_ALERT.with_changes(kind="recovered", deliveries=OPEN_ALERT.deliveries * (n + 1)) for n in range(AT_ONCE)]
        took = at_once(stores, *[lambda store, key=told.key, new=new: store.replace_alert(key, old=OPEN_ALERT, new=new) for new in claims])
        assert sorted(took) == [False] * (AT_ONCE - 1) + [True]
        assert stores[0].night(told.key) == told.with_changes(alert=claims[took.index(True)])


@pytest.mark.parametrize("replaces", [None, schedule()])
def test_of_those_that_save_one_schedule_at_once_one_has_and_the_others_are_told(
    stores: list[SqlMonitoringStore], replaces: object
) -> None:
    if replaces is not None:
        stores[0].save(schedule(), replaces=None, entry=ENTRY)
    wanted = [schedule(cadence_seconds=3_600 + number) for number in range(AT_ONCE)]
    writes = [lambda store, new=new: saved(store, lambda s: s.save(new, replaces=replaces, entry=ENTRY)) for new in wanted]
    has_saved = at_once(stores, *writes)
    assert sorted(has_saved) == [False] * (AT_ONCE - 1) + [True]
    assert stores[0].schedules() == (wanted[has_saved.index(True)],)


def test_of_those_that_save_at_once_in_several_projects_only_as_many_as_the_tenant_may_have_do(url: str) -> None:
    def at_most_two(found: Sequence[ProjectSchedule]) -> None:
        if len(found) >= 2:
            raise InputError("two are enough.")

    with ExitStack() as opened:
        stores = [open_monitoring_store(url, project=f"p-{number}", tenant="default") for number in range(AT_ONCE)]
        for store in stores:
            opened.callback(store.close)
        new = [schedule(f"s-{number}") for number in range(AT_ONCE)]
        write = [lambda s, one=one: saved(s, lambda store: store.save(one, replaces=None, entry=ENTRY, check=at_most_two)) for one in new]
        assert sorted(at_once(stores, *write)) == [False, False, False, True, True]
        assert len(stores[0].tenant_schedules()) == 2


def test_a_header_value_that_is_saved_while_keys_rotate_is_not_overwritten_with_the_one_before(stores: list[SqlMonitoringStore]) -> None:
    before, after = schedule(auth=header("old")), schedule(auth=header("another"))
    stores[0].save(before, replaces=None, entry=ENTRY)
    with ThreadPoolExecutor(1) as pool:
        saving: list[Future[bool]] = []

        def reseal(token: str) -> str:
            saving.append(pool.submit(saved, stores[1], lambda store: store.save(after, replaces=before, entry=ENTRY)))
            wait(saving, timeout=0.3)  # where nothing holds it back, it is through by then
            return f"new {token}"

        assert stores[0].reseal_headers(reseal, entry=ENTRY) == 1
        assert not saving[0].result()
    assert stores[0].schedules() == (before.with_changes(auth=header("new old")),)


def test_keys_that_two_rotate_at_once_leave_each_value_sealed_by_both(stores: list[SqlMonitoringStore]) -> None:
    for number in range(AT_ONCE):
        stores[0].save(schedule(f"s-{number}", auth=header("t")), replaces=None, entry=ENTRY)
    for rounds in range(1, ROUNDS + 1):
        sealed = at_once(stores, *[lambda store: store.reseal_headers(lambda token: f"{token}+", entry=ENTRY)] * 2)
        assert sealed == [AT_ONCE] * 2
        assert {one.auth for one in stores[0].schedules()} == {header("t" + "++" * rounds)}


ACTS = st.tuples(st.sampled_from(["begin", "finish", "record"]), st.integers(1, 3), st.sampled_from(["checked_clean", "checked_flagged"]))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(ACTS, max_size=8))
def test_whatever_attempts_do_in_whatever_order_a_night_ends_once_and_by_the_attempt_that_has_it(
    stores: list[SqlMonitoringStore], acts: list[tuple[Act, int, str]]
) -> None:
    store, hours = stores[0], next(HOURS)
    held: Night | None = None
    for act, attempt, state in acts:
        wanted = night(hours=hours, attempt=attempt)
        over = ended(wanted, state=state)
        if act == "begin":
            is_ours = held is None or (held.state == "pending" and attempt > held.attempt)
            held = wanted if held is None or is_ours else held
            assert store.begin(wanted) == (held, is_ours)
        elif act == "finish":
            can = held is not None and held.state == "pending" and held.attempt == attempt
            held = over if can else held
            assert store.finish(over) is can
        else:
            held = over if held is None else held
            assert store.record(over) == held
        assert store.night(wanted.key) == held


def test_only_a_pending_night_begins_and_only_one_that_is_over_is_stored_as_over(stores: list[SqlMonitoringStore]) -> None:
    with pytest.raises(ValueError, match="has ended, and so cannot begin"):
        stores[0].begin(ended(night()))
    for write in (stores[0].record, stores[0].finish):
        with pytest.raises(ValueError, match="has not ended"):
            write(night())
    assert list(stores[0].nights()) == []


def test_a_write_that_is_killed_at_any_statement_changed_nothing_and_can_be_repeated(url: str) -> None:
    command = [sys.executable, "-m", "tests.support.killed_monitoring_writes", url]
    found = json.loads(subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout)
    assert list(found) == list(WRITES)
    for name, unchanged in found.items():
        *killed, got_through = unchanged
        assert len(killed) >= 2, f"{name} was not killed before its statement and before its end"
        assert all(killed), f"{name} left something behind when it was killed before its statement {killed.index(False) + 1}"
        assert not got_through, f"{name} changed nothing"
