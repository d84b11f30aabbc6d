"""Asking: nothing twice, failures typed, limits kept."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evalplatform.calls.breaker import CircuitBreaker
from evalplatform.calls.budget import Budget
from evalplatform.calls.desk import CallDesk, Endpoint
from evalplatform.calls.limiter import EndpointLimiter, Limits
from evalplatform.calls.retry import RetryPolicy
from evalplatform.kernel.errors import (
    BudgetExhaustedError,
    CircuitOpenError,
    DeferredError,
    FatalCallError,
    RetryableCallError,
    StorageUnavailableError,
    UnusableReplyError,
)
from evalplatform.kernel.usage import Usage
from evalplatform.ports.ledger import LedgerRow
from evalplatform.ports.model_client import Message, ModelReply, ModelRequest, Sampling
from tests.support.doubles import HandClock, MemoryLedger, UnitPrices


class Client:
    """Answers with the seed it was sent; `failures` are raised first, in order."""

    def __init__(self, *failures: Exception, usage: Usage | None = None) -> None:
        self.failures = list(failures)
        self.requests: list[ModelRequest] = []
        self.gate: asyncio.Event | None = None
        self.usage = usage or Usage(prompt_tokens=10, completion_tokens=5)
        self.running = 0
        self.most_running = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            if self.gate is not None:
                await self.gate.wait()
            await asyncio.sleep(0)
            if self.failures:
                raise self.failures.pop(0)
        finally:
            self.running -= 1
        return ModelReply(text=f"seed {request.sampling.seed}", usage=self.usage, latency_seconds=0.1)

    async def aclose(self) -> None: ...


def request(text: str = "hello", **sampling: object) -> ModelRequest:
    return ModelRequest(
        provider="test", model="m", messages=(Message(role="user", content=text),), sampling=Sampling.model_validate(sampling)
    )


def desk(
    client: Client, ledger: MemoryLedger | None = None, *, run_id: str = "run-1", cap_usd: float | None = None, **limits: object
) -> CallDesk:
    clock = HandClock()
    ledger = ledger or MemoryLedger()
    prices = UnitPrices(usd_per_token=0.01)
    return CallDesk(
        endpoint=Endpoint(
            client=client,
            limiter=EndpointLimiter(Limits.model_validate({"max_concurrent": 64, **limits}), clock=clock),
            breaker=CircuitBreaker(),
            prices=prices,
        ),
        ledger=ledger,
        clock=clock,
        project="p",
        run_id=run_id,
        budget=None if cap_usd is None else Budget(cap_usd, run_id=run_id, ledger=ledger),
    )


def test_a_finished_call_is_never_asked_again_by_a_later_run():
    ledger, client = MemoryLedger(), Client()
    first = asyncio.run(desk(client, ledger).ask(request(), purpose="answer"))
    later = desk(client, ledger, run_id="run-2")
    second = asyncio.run(later.ask(request(), purpose="answer"))
    assert len(client.requests) == 1
    assert second.replayed
    assert second.row == first.row
    assert later.tally.counts().replayed_usd == pytest.approx(0.15)
    assert later.tally.counts().paid_usd is None


def test_identical_calls_in_flight_are_asked_once_and_counted_as_shared():
    async def scenario() -> None:
        client = Client()
        client.gate = asyncio.Event()
        asking = desk(client)
        calls = [asyncio.create_task(asking.ask(request(), purpose="answer")) for _ in range(5)]
        await asyncio.sleep(0.01)
        client.gate.set()
        outcomes = await asyncio.gather(*calls)
        assert len(client.requests) == 1
        assert [outcome.shared for outcome in outcomes] == [False, True, True, True, True]
        assert (asking.tally.paid, asking.tally.shared) == (1, 4)

    asyncio.run(scenario())


def test_identical_calls_at_once_that_an_earlier_run_paid_for_are_all_replayed():
    async def scenario() -> tuple[int, int]:
        ledger = MemoryLedger()
        await desk(Client(), ledger, run_id="run-1").ask(request(), purpose="answer")
        later = desk(Client(), ledger, run_id="run-2")
        await asyncio.gather(*(later.ask(request(), purpose="answer") for _ in range(3)))
        return later.tally.replayed, later.tally.shared

    assert asyncio.run(scenario()) == (3, 0)


def beside(first: CallDesk) -> CallDesk:
    """A second desk of the same run at the same endpoint, as the next cell has."""
    return CallDesk(endpoint=first.endpoint, ledger=first.ledger, clock=first.clock, project="p", run_id=first.run_id, budget=first.budget)


def test_two_desks_of_one_endpoint_that_ask_the_same_at_once_pay_once():
    async def scenario() -> None:
        client = Client()
        client.gate = asyncio.Event()
        first = desk(client)
        second = beside(first)
        calls = [asyncio.create_task(asking.ask(request(), purpose="answer")) for asking in (first, second)]
        await asyncio.sleep(0.01)
        client.gate.set()
        outcomes = await asyncio.gather(*calls)
        assert len(client.requests) == 1
        assert [outcome.shared for outcome in outcomes] == [False, True]
        assert [(asking.tally.paid, asking.tally.shared) for asking in (first, second)] == [(1, 0), (0, 1)]

    asyncio.run(scenario())


def test_repeated_draws_are_different_calls_with_different_seeds():
    async def scenario() -> list[str]:
        asking = desk(Client())
        return [(await asking.ask(request(seed=7), purpose="answer", draw=draw)).row.reply.text for draw in range(3)]

    assert asyncio.run(scenario()) == ["seed 7", "seed 8", "seed 9"]


def test_waiters_of_a_failed_identical_call_get_its_error():
    async def scenario() -> None:
        client = Client(UnusableReplyError("no_choices", "The reply has no choices."))
        client.gate = asyncio.Event()
        asking = desk(client)
        calls = [asyncio.create_task(asking.ask(request(), purpose="answer")) for _ in range(2)]
        await asyncio.sleep(0.01)
        client.gate.set()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(result) for result in results] == [UnusableReplyError, UnusableReplyError]
        assert asking.tally.failed == 1

    asyncio.run(scenario())


def test_overload_is_retried_three_times_then_a_failed_call():
    client = Client(*[RetryableCallError("overloaded", "Overloaded.", status=529) for _ in range(4)])
    with pytest.raises(RetryableCallError):
        asyncio.run(desk(client).ask(request(), purpose="answer"))
    assert len(client.requests) == 4


def test_a_wrong_key_is_not_retried():
    client = Client(FatalCallError("auth", "Wrong key.", status=401))
    with pytest.raises(FatalCallError):
        asyncio.run(desk(client).ask(request(), purpose="answer"))
    assert len(client.requests) == 1


def test_retry_after_holds_the_whole_endpoint_back():
    client = Client(RetryableCallError("rate_limited", "Slow down.", status=429, retry_after_seconds=2.0))
    asking = desk(client)
    asyncio.run(asking.ask(request(), purpose="answer"))
    clock = asking.clock
    assert isinstance(clock, HandClock)
    assert clock.monotonic_seconds() == pytest.approx(2.0)


def test_a_retry_after_beyond_the_cap_defers_the_run_and_the_endpoint_is_asked_nothing_more():
    client = Client(RetryableCallError("rate_limited", "Come back tomorrow.", status=429, retry_after_seconds=86_400))
    asking = desk(client)
    for number in range(3):
        with pytest.raises(DeferredError, match="86,400 s"):
            asyncio.run(asking.ask(request(str(number)), purpose="answer"))
    assert len(client.requests) == 1


def test_identical_fatal_failures_stop_the_run_before_more_is_spent():
    async def scenario() -> int:
        client = Client(*[FatalCallError("auth", "Wrong key.", status=401) for _ in range(10)])
        asking = desk(client)
        stopped = 0
        for number in range(10):
            try:
                await asking.ask(request(str(number)), purpose="answer")
            except CircuitOpenError:
                stopped += 1
            except FatalCallError:
                pass
        assert stopped == 7
        return len(client.requests)

    assert asyncio.run(scenario()) == 3


def test_a_model_that_does_not_exist_stops_no_other_model_of_its_endpoint():
    unknown = FatalCallError("not_found", "No such model.", status=404)

    async def scenario() -> tuple[int, int]:
        client = Client()
        asking = desk(client)
        stopped = 0
        for number in range(6):
            client.failures.append(unknown)
            try:
                await asking.ask(request(str(number)).with_changes(model="missing"), purpose="answer")
            except CircuitOpenError:
                stopped += 1
                client.failures.clear()
            except FatalCallError:
                pass
            await asking.ask(request(str(number)), purpose="answer")
        return stopped, asking.tally.paid

    assert asyncio.run(scenario()) == (3, 6)


def test_a_wrong_key_stops_every_model_of_its_endpoint():
    async def scenario() -> int:
        client = Client(*[FatalCallError("auth", "Wrong key.", status=401) for _ in range(10)])
        asking = desk(client)
        for number in range(10):
            with pytest.raises((FatalCallError, CircuitOpenError)):
                await asking.ask(request("hello").with_changes(model=f"model-{number}"), purpose="answer")
        return len(client.requests)

    assert asyncio.run(scenario()) == 3


def test_one_bad_question_does_not_stop_a_run():
    async def scenario() -> None:
        client = Client(FatalCallError("bad_request", "Too long.", status=400))
        asking = desk(client)
        with pytest.raises(FatalCallError):
            await asking.ask(request("too long"), purpose="answer")
        for number in range(5):
            await asking.ask(request(str(number)), purpose="answer")

    asyncio.run(scenario())


def test_the_spend_cap_stops_before_the_call_that_could_pass_it():
    async def scenario() -> CallDesk:
        asking = desk(Client(), cap_usd=1.0)
        with pytest.raises(BudgetExhaustedError, match="cap of"):
            for number in range(100):
                await asking.ask(request(str(number), max_tokens=5), purpose="answer")
        return asking

    asking = asyncio.run(scenario())
    assert 0.5 < (asking.tally.paid_usd or 0) <= 1.0


def test_a_rerun_with_the_same_cap_goes_on_unless_a_single_call_may_cost_more():
    async def refused(asking: CallDesk) -> str:
        with pytest.raises(BudgetExhaustedError) as stopped:
            for number in range(100):
                await asking.ask(request(str(number), max_tokens=5), purpose="answer")
        return str(stopped.value)

    first = desk(Client(), cap_usd=1.0)
    assert asyncio.run(refused(first)).endswith("a rerun asks only what is missing, and may pay up to the cap anew.")
    assert asyncio.run(refused(desk(Client(), cap_usd=0.0001))).endswith("so a rerun needs a higher cap.")


def test_concurrent_calls_together_stay_under_the_cap():
    async def scenario() -> CallDesk:
        asking = desk(Client(usage=Usage(prompt_tokens=1, completion_tokens=5)), cap_usd=1.0)
        calls = (asking.ask(request(str(number), max_tokens=5), purpose="answer") for number in range(100))
        await asyncio.gather(*calls, return_exceptions=True)
        return asking

    asking = asyncio.run(scenario())
    assert 0.5 < (asking.tally.paid_usd or 0) <= 1.0


def test_calls_of_two_desks_of_a_run_together_stay_under_the_cap():
    async def scenario() -> float:
        asking = desk(Client(usage=Usage(prompt_tokens=1, completion_tokens=5)), cap_usd=1.0)
        desks = (asking, beside(asking))
        calls = [desks[number % 2].ask(request(str(number), max_tokens=5), purpose="answer") for number in range(100)]
        await asyncio.gather(*calls, return_exceptions=True)
        return sum(one.tally.paid_usd or 0 for one in desks)

    assert 0.5 < asyncio.run(scenario()) <= 1.0


def test_a_call_without_a_known_price_is_not_asked_under_a_cap():
    asking = desk(Client(), cap_usd=1.0)
    asking.endpoint = replace(asking.endpoint, prices=UnitPrices(usd_per_token=None))
    with pytest.raises(BudgetExhaustedError, match="no known price"):
        asyncio.run(asking.ask(request(), purpose="answer"))


def test_an_unknown_price_is_counted_as_unpriced_and_never_as_zero():
    asking = desk(Client(usage=Usage()))
    outcome = asyncio.run(asking.ask(request(), purpose="answer"))
    assert outcome.row.cost_usd is None
    assert outcome.row.price_table is None
    assert asking.tally.counts().unpriced == 1
    assert asking.tally.counts().paid_usd is None


def test_the_endpoint_limit_bounds_concurrency():
    async def scenario() -> int:
        client = Client()
        asking = desk(client, max_concurrent=3)
        await asyncio.gather(*(asking.ask(request(str(number)), purpose="answer") for number in range(20)))
        return client.most_running

    assert asyncio.run(scenario()) == 3


def test_requests_per_minute_are_kept():
    async def scenario() -> float:
        asking = desk(Client(), requests_per_minute=10)
        await asyncio.gather(*(asking.ask(request(str(number)), purpose="answer") for number in range(25)))
        return asking.clock.monotonic_seconds()

    assert asyncio.run(scenario()) == pytest.approx(120.0)


def test_waits_between_tries_double_with_jitter_and_can_be_repeated():
    policy = RetryPolicy(first_wait_seconds=1.0, longest_wait_seconds=3.0)
    error = RetryableCallError("overloaded", "Overloaded.")
    waits = [policy.wait_seconds(error, tries=tries, request_digest="d") for tries in (1, 2, 3)]
    assert waits == [policy.wait_seconds(error, tries=tries, request_digest="d") for tries in (1, 2, 3)]
    assert 0.5 <= waits[0] <= 1.0 <= waits[1] <= 2.0
    assert 1.5 <= waits[2] <= 3.0
    assert waits[0] != policy.wait_seconds(error, tries=1, request_digest="e")


def test_rows_are_stamped_in_utc():
    outcome = asyncio.run(desk(Client()).ask(request(), purpose="answer"))
    assert outcome.row.finished_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_no_call_starts_once_the_ledger_cannot_keep_a_reply():
    class GoneLedger(MemoryLedger):
        async def record(self, row: LedgerRow) -> LedgerRow:
            raise StorageUnavailableError("the database does not answer.")

    async def scenario() -> int:
        client = Client()
        asking = desk(client, GoneLedger(), max_concurrent=2)
        calls = (asking.ask(request(str(number)), purpose="answer") for number in range(6))
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(result) for result in results} == {StorageUnavailableError}
        return len(client.requests)

    assert asyncio.run(scenario()) == 2
