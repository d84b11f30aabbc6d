"""The circuit breaker: the same failure again and again stops the run before more is spent."""

from evalplatform.kernel.errors import CallError, CircuitOpenError, FatalCallError

FATAL_FAILURES_TO_OPEN = 3
FAILURES_TO_OPEN = 8


class CircuitBreaker:
    """Opens after identical failures in a row, counted over all calls of one endpoint.

    Three failures that asking again cannot help (wrong key, unknown model, unsupported parameter) or eight of any other kind, all with one
    reason and status and no reply in between, open it. So one bad question never stops a run, and a dead endpoint soon does. It stays
    open: a rerun starts with a closed one.
    """

    def __init__(self) -> None:
        self._last: tuple[str, int | None] | None = None
        self._in_a_row = 0
        self._open_because: str | None = None

    def check(self) -> None:
        """Raise CircuitOpenError if open."""
        if self._open_because is not None:
            raise CircuitOpenError(self._open_because)

    def succeeded(self) -> None:
        """Note a reply."""
        self._last, self._in_a_row = None, 0

    def failed(self, error: CallError) -> None:
        """Note a call that ended without a reply, its retries included."""
        kind = (error.reason, error.status)
        self._in_a_row = self._in_a_row + 1 if kind == self._last else 1
        self._last = kind
        needed = FATAL_FAILURES_TO_OPEN if isinstance(error, FatalCallError) else FAILURES_TO_OPEN
        if self._in_a_row >= needed and self._open_because is None:
            self._open_because = f"Stopped after {self._in_a_row} identical failures in a row: {error} Nothing more was asked."
