"""How long a server that went away is waited for."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

from evalplatform.kernel.errors import StorageUnavailableError

T = TypeVar("T")

RESTART_SECONDS = 20.0
FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 2.0


class Outage:
    """Waits through a short outage, and only once through a long one.

    The patience is of the outage, not of each attempt: when it has run out, everything fails at its first attempt until the server answers
    again. A server that has never answered is not waited for at all: its address is more likely wrong. Several threads may share one.

    Args:
        patience_seconds: how long an outage is waited for, from its first failure.
        clock: monotonic seconds.
        pause: sleeps for so many seconds.
    """

    def __init__(self, patience_seconds: float, *, clock: Callable[[], float] = monotonic, pause: Callable[[float], None] = sleep) -> None:
        self._patience_seconds = patience_seconds
        self._clock = clock
        self._pause = pause
        self._has_answered = False
        self._since: float | None = None
        self._wait_seconds = FIRST_WAIT_SECONDS

    def waited(self) -> bool:
        """Note a failed attempt; wait a little and return True, or return False where waiting is no longer worth it."""
        now = self._clock()
        if self._since is None:
            self._since, self._wait_seconds = now, FIRST_WAIT_SECONDS
        if not self._has_answered or now - self._since >= self._patience_seconds:
            return False
        self._pause(self._wait_seconds)
        self._wait_seconds = min(2 * self._wait_seconds, LONGEST_WAIT_SECONDS)
        return True

    def answered(self) -> None:
        """Note that the server answers."""
        self._has_answered = True
        self._since = None

    def outlasted(self, ask: Callable[[], T]) -> T:
        """Return what `ask` gives, asking again while the server is away; StorageUnavailableError where waiting is no longer worth it."""
        while True:
            try:
                answer = ask()
            except StorageUnavailableError:
                if not self.waited():
                    raise
            else:
                self.answered()
                return answer


def expected_outage(patience_seconds: float) -> Outage:
    """Return the patience with a server that is known to have answered, if not to this process."""
    outage = Outage(patience_seconds)
    outage.answered()
    return outage
