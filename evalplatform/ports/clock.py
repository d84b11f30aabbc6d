"""The clock port: the only way the domain learns the time or waits."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time as the domain sees it. Tests pass one that moves by hand."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware, in UTC."""
        ...

    def monotonic_seconds(self) -> float:
        """Return seconds from an arbitrary start, never going back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the event loop."""
        ...
