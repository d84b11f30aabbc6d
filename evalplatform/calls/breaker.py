"""The circuit breaker: the same failure again and again, or too long a wait, stops the run before more is asked."""

from collections import defaultdict
from dataclasses import dataclass

from evalplatform.kernel.errors import CallError, CircuitOpenError, DeferredError, FatalCallError, RetryableCallError, RunStoppedError

FATAL_FAILURES_TO_OPEN = 3
FAILURES_TO_OPEN = 8
ACCOUNT_REASONS = frozenset({"auth", "quota"})
"""Failures of whoever asks, and so perhaps of every model of the endpoint."""


class CircuitBreaker:
    """Opens after identical failures in a row, for the model that failed.

    Three failures that asking again cannot help (wrong key, unknown model, unsupported parameter) or eight of any other kind, all with one
    reason and status and no reply of that model in between, open it for that model. So one bad question never stops a run, a dead model
    soon does, and a cell whose model does not exist does not stop its neighbours. What may be the whole endpoint's fault opens it for the
    whole endpoint where no model replied in between: three wrong keys or used-up quotas, eight overloads or lost connections; and so does
    at once a server that asks for a longer wait than the cap. It stays open: a rerun starts with a closed one.
    """

    def __init__(self) -> None:
        self._of_model: defaultdict[str, _Streak] = defaultdict(_Streak)
        self._of_endpoint = _Streak()

    def check(self, model: str) -> None:
        """Raise CircuitOpenError, or DeferredError, if open for that model."""
        stop = self._of_endpoint.stop or self._of_model[model].stop
        if stop is not None:
            raise type(stop)(str(stop))  # a new one: an exception that is raised again collects tracebacks

    def succeeded(self, model: str) -> None:
        """Note a reply."""
        self._of_model[model].end()
        self._of_endpoint.end()

    def failed(self, error: CallError, *, model: str) -> None:
        """Note a call that ended without a reply, its retries included."""
        self._of_model[model].add(error)
        if error.reason in ACCOUNT_REASONS or isinstance(error, RetryableCallError):
            self._of_endpoint.add(error)

    def deferred(self, error: DeferredError) -> None:
        """Note that the server asks for a longer wait than the cap."""
        self._of_endpoint.stop = self._of_endpoint.stop or error


@dataclass
class _Streak:
    """Identical failures in a row, and the stop that they came to."""

    kind: tuple[str, int | None] | None = None
    length: int = 0
    stop: RunStoppedError | None = None

    def end(self) -> None:
        self.kind, self.length = None, 0

    def add(self, error: CallError) -> None:
        kind = (error.reason, error.status)
        self.length = self.length + 1 if kind == self.kind else 1
        self.kind = kind
        needed = FATAL_FAILURES_TO_OPEN if isinstance(error, FatalCallError) else FAILURES_TO_OPEN
        if self.length >= needed and self.stop is None:
            self.stop = CircuitOpenError(f"Stopped after {self.length} identical failures in a row: {error} Nothing more was asked.")
