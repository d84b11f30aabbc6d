"""Progress of long work, as values: done, failed, spent, rate and time left. Drivers decide how to show it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from evalplatform.calls.counts import CallTally
from evalplatform.kernel.values import Value
from evalplatform.ports.clock import Clock


class Progress(Value):
    """Where a stage stands. `eta_seconds` and `per_second` are None until something is done.

    `paid` and `replayed` count calls; they are None for work that is no call of ours.
    `waits_for` says what the stage waits for before it begins; it is None while it works.
    """

    stage: str
    done: int
    total: int
    failed: int = 0
    paid: int | None = None
    replayed: int | None = None
    spent_usd: float | None = None
    elapsed_seconds: float = 0.0
    per_second: float | None = None
    eta_seconds: float | None = None
    waits_for: str | None = None


OnProgress = Callable[[Progress], None]


@dataclass
class ProgressMeter:
    """Turns finished items into Progress, at most every `interval_seconds`, and once at the end.

    What is spent comes from the tally of calls, or from `spent_usd` where the items are no calls.
    """

    stage: str
    total: int
    clock: Clock
    on_progress: OnProgress
    tally: CallTally | None = None
    spent_usd: Callable[[], float | None] | None = None
    interval_seconds: float = 0.25
    _done: int = 0
    _failed: int = 0
    _started_at: float = field(init=False)
    _shown_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._started_at = self._shown_at = self.clock.monotonic_seconds()

    def finished(self, *, failed: bool = False) -> None:
        """Note one finished item."""
        self._done += 1
        self._failed += failed
        now = self.clock.monotonic_seconds()
        if self._done == self.total or now - self._shown_at >= self.interval_seconds:
            self._shown_at = now
            self.on_progress(self._progress(now))

    def _progress(self, now: float) -> Progress:
        elapsed_seconds = now - self._started_at
        per_second = self._done / elapsed_seconds if elapsed_seconds > 0 else None
        return Progress(
            stage=self.stage,
            done=self._done,
            total=self.total,
            failed=self._failed,
            paid=self.tally.paid if self.tally else None,
            replayed=self.tally.replayed if self.tally else None,
            spent_usd=self._spent_usd(),
            elapsed_seconds=elapsed_seconds,
            per_second=per_second,
            eta_seconds=(self.total - self._done) / per_second if per_second else None,
        )

    def _spent_usd(self) -> float | None:
        if self.spent_usd is not None:
            return self.spent_usd()
        return self.tally.paid_usd if self.tally else None
