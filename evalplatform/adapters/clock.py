"""Clocks: the system's, and one that tests move by hand."""

import asyncio
import time
from datetime import UTC, datetime, timedelta


class SystemClock:
    """The machine's clock and the event loop's sleep.

    Args:
        offset_seconds: what `now` is ahead of the machine; for test deployments, where a week must not take one.
    """

    def __init__(self, offset_seconds: float = 0.0) -> None:
        self._offset = timedelta(seconds=offset_seconds)

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC) + self._offset

    def monotonic_seconds(self) -> float:
        """Return seconds from an arbitrary start, never going back."""
        return time.perf_counter()

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the event loop."""
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that stands still until it is moved. A sleep moves it at once and is remembered, so tests of long waits take no time.

    Args:
        start: the first `now`, timezone-aware.

    Attributes:
        slept_seconds: every sleep asked for, in order.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.slept_seconds: list[float] = []
        self._start = start
        self._elapsed_seconds = 0.0

    def now(self) -> datetime:
        """Return the start plus all that the clock was moved by."""
        return self._start + timedelta(seconds=self._elapsed_seconds)

    def monotonic_seconds(self) -> float:
        """Return the seconds that the clock was moved by."""
        return self._elapsed_seconds

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self._elapsed_seconds += max(0.0, seconds)

    async def sleep(self, seconds: float) -> None:
        """Move the clock forward and let other tasks run once."""
        self.slept_seconds.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)
