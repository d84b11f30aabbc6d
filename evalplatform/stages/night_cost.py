"""What a night takes, measured from its start in this process."""

import time
from collections.abc import Iterable

from evalplatform.ports.clock import Clock
from evalplatform.runs.night import NightCost
from evalplatform.stages.night_legs import StoredLeg


class NightMeter:
    """Starts counting when it is made. What an earlier attempt took, whose process died, is not known and not in it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_seconds = clock.monotonic_seconds()
        self._began_cpu_seconds = time.process_time()

    def cost(self, *, requests: int, legs: Iterable[StoredLeg | None]) -> NightCost:
        """Return the cost until now.

        Args:
            requests: how often the agent was asked.
            legs: what was recorded; None for a leg that did not run.
        """
        return NightCost(
            wall_seconds=self._clock.monotonic_seconds() - self._began_seconds,
            cpu_seconds=time.process_time() - self._began_cpu_seconds,
            requests=requests,
            stored_bytes=sum(leg.stored_bytes for leg in legs if leg is not None),
        )
