"""The circuit breaker: the same failure again and again, or too long a wait, stops the run before more is asked."""

from evalplatform.kernel.errors import CallError, CircuitOpenError, DeferredError, FatalCallError, RunStoppedError

FATAL_FAILURES_TO_OPEN = 3
FAILURES_TO_OPEN = 8


class CircuitBreaker:
    """Opens after identical failures in a row, counted over all calls of one endpoint.

    Three failures that asking again cannot help (wrong key, unknown model, unsupported parameter) or eight of any other kind, all with one
    reason and status and no reply in between, open it. So one bad question never stops a run, and a dead endpoint soon does. A server that
    asks for a longer wait than the cap opens it at once. It stays open: a rerun starts with a closed one.
    """

    def __init__(self) -> None:
        self._last: tuple[str, int | None] | None = None
        self._in_a_row = 0
        self._stop: RunStoppedError | None = None

    def check(self) -> None:
        """Raise CircuitOpenError, or DeferredError, if open."""
        if self._stop is not None:
            raise type(self._stop)(str(self._stop))  # a new one: an exception that is raised again collects tracebacks

    def succeeded(self) -> None:
        """Note a reply."""
        self._last, self._in_a_row = None, 0

    def failed(self, error: CallError) -> None:
        """Note a call that ended without a reply, its retries included."""
        kind = (error.reason, error.status)
        self._in_a_row = self._in_a_row + 1 if kind == self._last else 1
        self._last = kind
        needed = FATAL_FAILURES_TO_OPEN if isinstance(error, FatalCallError) else FAILURES_TO_OPEN
        if self._in_a_row >= needed and self._stop is None:
            self._stop = CircuitOpenError(f"Stopped after {self._in_a_row} identical failures in a row: {error} Nothing more was asked.")

    def deferred(self, error: DeferredError) -> None:
        """Note that the server asks for a longer wait than the cap."""
        self._stop = self._stop or error
