import asyncio
from datetime import UTC, datetime, timedelta

from evalplatform.adapters.clock import ManualClock, SystemClock


def test_the_system_clock_is_in_utc_and_never_goes_back() -> None:
    clock = SystemClock()
    before = clock.monotonic_seconds()
    asyncio.run(clock.sleep(0))
    assert clock.monotonic_seconds() >= before
    assert clock.now().utcoffset() == timedelta(0)


def test_the_manual_clock_moves_only_when_it_is_moved_and_remembers_its_sleeps() -> None:
    clock = ManualClock(datetime(2026, 12, 2, tzinfo=UTC))
    asyncio.run(clock.sleep(3600))
    clock.advance(1.5)
    assert clock.now() == datetime(2026, 12, 2, 1, 0, 1, 500_000, tzinfo=UTC)
    assert clock.monotonic_seconds() == 3601.5
    assert clock.slept_seconds == [3600]
