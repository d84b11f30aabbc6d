"""One limiter per endpoint, shared by every arm and judge that uses it."""

from asyncio import Semaphore
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.ports.clock import Clock

WINDOW_SECONDS = 60.0


class Limits(Value):
    """What an endpoint bears. None means no limit of that kind."""

    max_concurrent: int = Field(default=8, strict=True, ge=1)
    requests_per_minute: int | None = Field(default=None, strict=True, ge=1)

    @property
    def workers(self) -> int:
        """How many workers keep that many calls in flight: half as many again, for those that look into the ledger or read a reply."""
        return self.max_concurrent + -(-self.max_concurrent // 2)

    def shared_by(self, runs: int) -> "Limits":
        """Return what each of so many runs may take, so that together they keep within these limits; one call at a time at the least."""
        per_minute = None if self.requests_per_minute is None else max(1, self.requests_per_minute // runs)
        return Limits(max_concurrent=max(1, self.max_concurrent // runs), requests_per_minute=per_minute)


class EndpointLimiter:
    """Holds calls back until the endpoint may take them.

    Concurrency is a semaphore; requests per minute a sliding window over start times; `pause` holds every new start back, which is how one
    Retry-After quiets a whole endpoint and not one call.
    """

    def __init__(self, limits: Limits, *, clock: Clock) -> None:
        self._clock = clock
        self._slots = Semaphore(limits.max_concurrent)
        self._per_minute = limits.requests_per_minute
        self._starts: deque[float] = deque()
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """Let no new call start for that long; a shorter pause never shortens a longer one."""
        self._paused_until = max(self._paused_until, self._clock.monotonic_seconds() + seconds)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the body."""
        async with self._slots:
            await self._wait_for_start()
            yield

    async def _wait_for_start(self) -> None:
        while (wait_seconds := self._seconds_until_start()) > 0:
            await self._clock.sleep(wait_seconds)
        if self._per_minute is not None:
            self._starts.append(self._clock.monotonic_seconds())

    def _seconds_until_start(self) -> float:
        now = self._clock.monotonic_seconds()
        wait_seconds = self._paused_until - now
        if self._per_minute is not None:
            while self._starts and self._starts[0] <= now - WINDOW_SECONDS:
                self._starts.popleft()
            if len(self._starts) >= self._per_minute:
                wait_seconds = max(wait_seconds, self._starts[0] + WINDOW_SECONDS - now)
        return wait_seconds
