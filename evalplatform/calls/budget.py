"""The spend cap: a call is asked only where its estimated cost still fits, and waits while calls in flight may leave room for it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import fsum

from evalplatform.calls.counts import PriceTable
from evalplatform.kernel.errors import BudgetExhaustedError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.ledger import Ledger
from evalplatform.ports.model_client import ModelRequest

CHARS_PER_TOKEN = 4
ASSUMED_COMPLETION_TOKENS = 1_024


def estimated_usage(request: ModelRequest) -> Usage:
    """Return a rough usage before the call: four characters a token, and the whole `max_tokens` (1,024 when unset) as the reply."""
    prompt_chars = sum(len(message.content) for message in request.messages)
    return Usage(
        prompt_tokens=-(-prompt_chars // CHARS_PER_TOKEN), completion_tokens=request.sampling.max_tokens or ASSUMED_COMPLETION_TOKENS
    )


class Budget:
    """A cap on what one run pays, checked against the ledger, so that it holds across the processes of a run.

    All desks of a process that ask for one run share one budget: what each of them has in flight counts for the others.
    Calls in flight are reserved at their estimate, scaled up by the worst ratio of real to estimated cost seen so far (languages and
    providers differ in characters a token). Estimates are far above what most calls cost, so a call that does not fit beside those in
    flight waits for them; only where none is in flight is the run stopped. Whoever came first is looked at first, so a long call is not
    starved by short ones. A request without a known price is not asked under a cap: its cost could not be counted.
    """

    def __init__(self, cap_usd: float, *, run_id: str, ledger: Ledger) -> None:
        self._cap_usd = cap_usd
        self._run_id = run_id
        self._ledger = ledger
        self._in_flight_usd: list[float] = []  # estimates, not scaled yet
        self._worst_ratio = 1.0
        self._askers: deque[asyncio.Event] = deque()
        self._released: asyncio.Event | None = None

    async def reserve(self, request: ModelRequest, *, prices: PriceTable) -> float:
        """Reserve the estimated cost of a call once it fits, and return it; `release` takes it back once the call is in the ledger.

        Raises:
            BudgetExhaustedError: nothing is in flight and the estimate does not fit, or the price is unknown.
        """
        estimate_usd = prices.cost_usd(request.provider, request.model, estimated_usage(request))
        if estimate_usd is None:
            raise BudgetExhaustedError(
                f"{request.provider}:{request.model} has no known price, so a cap of ${self._cap_usd:g} cannot be kept. "
                "Give the endpoint `prices` in the project file, or run without a cap."
            )
        async with self._turn():
            while True:
                released = self._released = asyncio.Event()
                # Taken before the ledger is read: a call that ends meanwhile is counted twice for a moment, never not at all.
                in_flight_usd = tuple(self._in_flight_usd)
                spent_usd = (await self._ledger.spend(self._run_id)).known_usd
                if spent_usd + self._worst_ratio * fsum((*in_flight_usd, estimate_usd)) <= self._cap_usd:
                    self._in_flight_usd.append(estimate_usd)
                    return estimate_usd
                if not in_flight_usd:
                    raise BudgetExhaustedError(self._stopped(spent_usd, self._worst_ratio * estimate_usd))
                await released.wait()

    def release(self, estimate_usd: float, *, cost_usd: float | None) -> None:
        """Give back a reservation, and learn from what the call really cost (None when it failed or its usage is unknown)."""
        self._in_flight_usd.remove(estimate_usd)
        if cost_usd is not None and estimate_usd > 0:
            self._worst_ratio = max(self._worst_ratio, cost_usd / estimate_usd)
        if self._released is not None:
            self._released.set()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Let in one asker at a time, in the order of their coming: nobody else reserves while it finds out whether its call fits."""
        # Events of their own, not one lock: stages of a run ask in event loops of their own, and a lock belongs to one.
        mine = asyncio.Event()
        self._askers.append(mine)
        try:
            if self._askers[0] is not mine:
                await mine.wait()
            yield
        finally:
            self._askers.remove(mine)
            if self._askers:
                self._askers[0].set()

    def _stopped(self, spent_usd: float, estimate_usd: float) -> str:
        next_call = f"spent ${spent_usd:.6f}, and it may cost ${estimate_usd:.6f}"
        rerun = "a rerun asks only what is missing, and may pay up to the cap anew."
        if estimate_usd > self._cap_usd:
            rerun = f"that call alone may cost ${estimate_usd:.6f}, so a rerun needs a higher cap."
            next_call = f"spent ${spent_usd:.6f}"
        return f"The next call could pass the cap of ${self._cap_usd:g} ({next_call}). What is finished is kept; {rerun}"
