"""The call desk: every model call of a run goes through here, once."""

import asyncio
from dataclasses import dataclass, field

from evalplatform.calls.ask import CallOutcome
from evalplatform.calls.breaker import CircuitBreaker
from evalplatform.calls.budget import Budget
from evalplatform.calls.counts import CallTally, PriceTable
from evalplatform.calls.limiter import EndpointLimiter
from evalplatform.calls.request_digest import request_digest
from evalplatform.calls.retry import RetryPolicy
from evalplatform.kernel.errors import CallError, DeferredError, RetryableCallError, StorageError
from evalplatform.kernel.seeds import seed_for_draw
from evalplatform.ports.clock import Clock
from evalplatform.ports.ledger import CallKey, Ledger, LedgerRow, Purpose
from evalplatform.ports.model_client import ModelClient, ModelReply, ModelRequest

SHARED_SCOPE = "shared"


@dataclass(frozen=True)
class Endpoint:
    """One endpoint's connection with what is shared by all who use it: limiter, breaker, prices, and the calls in flight."""

    client: ModelClient
    limiter: EndpointLimiter
    breaker: CircuitBreaker
    prices: PriceTable
    in_flight: dict[CallKey, "asyncio.Future[LedgerRow]"] = field(default_factory=dict)


@dataclass
class CallDesk:
    """Asks one endpoint for one run: ledger first, then limits, retries, and the ledger again before the reply is used.

    Identical requests in flight are asked once, also by two desks of one endpoint. `tally` counts what happened. `budget` is
    None where no cap is set.
    """

    endpoint: Endpoint
    ledger: Ledger
    clock: Clock
    project: str
    run_id: str
    scope: str = SHARED_SCOPE
    budget: Budget | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    tally: CallTally = field(default_factory=CallTally)
    _ledger_failure: StorageError | None = None

    async def ask(self, request: ModelRequest, *, purpose: Purpose, draw: int = 0, attempt: int = 0) -> CallOutcome:
        """Return the finished call; see `calls.ask.Asker`."""
        self.tally.asked[purpose] += 1
        key = CallKey(scope=self.scope, request_digest=request_digest(request), draw=draw, attempt=attempt)
        if (waiting := self.endpoint.in_flight.get(key)) is not None:
            return self._answered_before(await asyncio.shield(waiting))
        finished: asyncio.Future[LedgerRow] = asyncio.get_running_loop().create_future()
        self.endpoint.in_flight[key] = finished
        try:
            outcome = await self._find_or_ask(request, key, purpose)
        except BaseException as error:
            finished.set_exception(error if isinstance(error, Exception) else CallError("cancelled", "The call was cancelled."))
            finished.exception()  # nobody may be waiting; an unread exception would be reported as lost
            raise
        else:
            finished.set_result(outcome.row)
            return outcome
        finally:
            del self.endpoint.in_flight[key]

    async def _find_or_ask(self, request: ModelRequest, key: CallKey, purpose: Purpose) -> CallOutcome:
        known = await self.ledger.find(key)
        if known is not None:
            return self._answered_before(known)
        self.endpoint.breaker.check(request.model)
        reserved_usd = await self.budget.reserve(request, prices=self.endpoint.prices) if self.budget is not None else 0.0
        cost_usd = None
        try:
            row = await self._recorded_after_retries(request, key, purpose)
            cost_usd = row.cost_usd
        finally:
            if self.budget is not None:
                self.budget.release(reserved_usd, cost_usd=cost_usd)
        self.tally.add_paid(row.cost_usd)
        return CallOutcome(row=row, replayed=False)

    def _answered_before(self, row: LedgerRow) -> CallOutcome:
        """Count a call that somebody made: of this run, it is shared; of an earlier one, replayed, whoever looked it up."""
        if row.run_id == self.run_id:
            self.tally.shared += 1
            return CallOutcome(row=row, replayed=False, shared=True)
        self.tally.add_replayed(row.cost_usd)
        return CallOutcome(row=row, replayed=True)

    async def _recorded_after_retries(self, request: ModelRequest, key: CallKey, purpose: Purpose) -> LedgerRow:
        """Return the call's row. A slot is held until the row is durable, so that a kill loses no more calls than there are slots."""
        sent = _with_seed_of_draw(request, key.draw)
        tries = 0
        while True:
            try:
                async with self.endpoint.limiter.slot():
                    self._check_may_start(sent.model)
                    reply = await self.endpoint.client.complete(sent)
                    self.endpoint.breaker.succeeded(sent.model)
                    return await self._recorded(self._row(request, key, purpose, reply))
            except RetryableCallError as error:
                tries += 1
                if tries >= self.retry.attempts:
                    self._failed(error, sent.model)
                    raise
                wait_seconds = self._wait_seconds(error, tries=tries, request_digest=key.request_digest)
                if error.retry_after_seconds is not None:
                    self.endpoint.limiter.pause(wait_seconds)
                await self.clock.sleep(wait_seconds)
            except CallError as error:
                self._failed(error, sent.model)
                raise

    def _check_may_start(self, model: str) -> None:
        """Raise where no further call may start: while this one waited, the breaker may have opened or the ledger gone away."""
        self.endpoint.breaker.check(model)
        if self._ledger_failure is not None:
            raise self._ledger_failure

    async def _recorded(self, row: LedgerRow) -> LedgerRow:
        try:
            return await self.ledger.record(row)
        except StorageError as error:
            self._ledger_failure = error  # a reply that cannot be kept is a reply paid for in vain: ask for no more of them
            raise

    def _wait_seconds(self, error: RetryableCallError, *, tries: int, request_digest: str) -> float:
        try:
            return self.retry.wait_seconds(error, tries=tries, request_digest=request_digest)
        except DeferredError as deferred:
            self.endpoint.breaker.deferred(deferred)
            raise

    def _failed(self, error: CallError, model: str) -> None:
        self.tally.failed += 1
        self.endpoint.breaker.failed(error, model=model)

    def _row(self, request: ModelRequest, key: CallKey, purpose: Purpose, reply: ModelReply) -> LedgerRow:
        cost_usd = self.endpoint.prices.cost_usd(request.provider, request.model, reply.usage)
        return LedgerRow(
            key=key,
            project=self.project,
            run_id=self.run_id,
            purpose=purpose,
            provider=request.provider,
            model=request.model,
            reply=reply,
            cost_usd=cost_usd,
            price_table=None if cost_usd is None else self.endpoint.prices.version,
            finished_at=self.clock.now(),
        )


def _with_seed_of_draw(request: ModelRequest, draw: int) -> ModelRequest:
    if draw == 0 or request.sampling.seed is None:
        return request
    sampling = request.sampling.model_copy(update={"seed": seed_for_draw(request.sampling.seed, draw)})
    return request.model_copy(update={"sampling": sampling})
