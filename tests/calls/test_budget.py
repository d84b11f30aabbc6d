"""The spend cap among calls in flight: who does not fit waits, the cap is never passed, and nobody waits for ever."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.calls.budget import Budget
from evalplatform.kernel.errors import BudgetExhaustedError, FatalCallError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.ledger import CallKey, LedgerRow
from evalplatform.ports.model_client import Message, ModelReply, ModelRequest, Sampling
from tests.support.doubles import MemoryLedger, UnitPrices

PRICES = UnitPrices(usd_per_token=1.0)  # a call of so many tokens at most is estimated at so many dollars
FAILS = -1


class SlowLedger(MemoryLedger):
    """A ledger that is read over several turns of the event loop, as a database is."""

    async def spend(self, run_id: str) -> Any:
        await asyncio.sleep(0)
        found = await super().spend(run_id)
        await asyncio.sleep(0)
        return found


class Run:
    """Calls under one cap; notes the most that was ever spent and in flight together."""

    def __init__(self, cap_usd: float) -> None:
        self.ledger = SlowLedger()
        self.budget = Budget(cap_usd, run_id="run", ledger=self.ledger)
        self.started: list[str] = []
        self.stops: list[tuple[float, float]] = []  # what was in flight then, and what would have been paid
        self.in_flight_usd = self.paid_usd = self.most_usd = 0.0

    async def call(self, name: str, *, estimate: int, cost: int, turns: int = 3) -> None:
        """Ask as a call desk does: reserve, wait for the reply, record it, release."""
        nothing = (Message(role="user", content=""),)
        request = ModelRequest(provider="p", model="m", messages=nothing, sampling=Sampling(max_tokens=estimate))
        try:
            reserved_usd = await self.budget.reserve(request, prices=PRICES)
        except BudgetExhaustedError:
            self.stops.append((self.in_flight_usd, self.paid_usd + estimate))
            raise
        self.started.append(name)
        self.in_flight_usd += estimate
        self.most_usd = max(self.most_usd, self.paid_usd + self.in_flight_usd)
        cost_usd = None
        try:
            for _ in range(turns):
                await asyncio.sleep(0)
            if cost == FAILS:
                raise FatalCallError("http_400", "refused")
            await self.ledger.record(row(name, cost))
            self.paid_usd += cost
            cost_usd = float(cost)
        finally:
            self.in_flight_usd -= estimate
            self.budget.release(reserved_usd, cost_usd=cost_usd)


def row(name: str, cost: int) -> LedgerRow:
    return LedgerRow(
        key=CallKey(scope="shared", request_digest=name, draw=0),
        project="p",
        run_id="run",
        purpose="answer",
        provider="p",
        model="m",
        reply=ModelReply(text="", usage=Usage(), latency_seconds=0.0),
        cost_usd=float(cost),
        price_table="v",
        finished_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def finished(*calls: Coroutine[Any, Any, None]) -> list[BaseException | None]:
    """Run the calls at once, and fail where some of them never end."""

    async def all_of_them() -> list[BaseException | None]:
        return await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), timeout=20)

    return asyncio.run(all_of_them())


def test_a_call_that_does_not_fit_beside_those_in_flight_waits_and_is_asked() -> None:
    run = Run(cap_usd=10)
    # Two at most fit at once, though all twelve together cost far less than the cap.
    assert finished(*(run.call(str(number), estimate=4, cost=0) for number in range(12))) == [None] * 12
    assert len(run.started) == 12
    assert run.most_usd == 8


def test_the_run_stops_only_where_nothing_is_in_flight_and_says_what_was_really_spent() -> None:
    run = Run(cap_usd=10)
    ended = finished(*(run.call(str(number), estimate=4, cost=1) for number in range(12)))
    assert run.started == [str(number) for number in range(7)]
    stopped = [error for error in ended if error is not None]
    assert len(stopped) == 5
    (sentence,) = {str(error) for error in stopped}
    assert sentence.startswith(
        "The next call could pass the cap of $10 (spent $7.000000, and it may cost $4.000000). What is finished is kept; "
    )
    assert sentence.endswith("a rerun asks only what is missing, and may pay up to the cap anew.")


def test_a_cap_of_nothing_asks_nothing_and_says_so_without_a_sign() -> None:
    run = Run(cap_usd=0)
    (stopped,) = finished(run.call("only", estimate=4, cost=1))
    assert isinstance(stopped, BudgetExhaustedError)
    assert "(spent $0.000000). What is finished is kept; that call alone may cost $4.000000" in str(stopped)
    assert run.started == []


def test_a_long_call_is_not_starved_by_short_ones_that_come_later() -> None:
    run = Run(cap_usd=10)
    short = [run.call(f"short {number}", estimate=2, cost=0) for number in range(20)]
    assert finished(*short[:4], run.call("long", estimate=9, cost=0), *short[4:]) == [None] * 21
    assert run.started.index("long") == 4


def test_a_failed_call_leaves_its_room_to_those_who_wait() -> None:
    run = Run(cap_usd=5)
    ended = finished(run.call("fails", estimate=4, cost=FAILS), run.call("waits", estimate=4, cost=1))
    assert isinstance(ended[0], FatalCallError)
    assert (ended[1], run.started) == (None, ["fails", "waits"])


def test_a_call_that_costs_more_than_estimated_makes_the_others_wait_for_more() -> None:
    run = Run(cap_usd=20)
    ended = finished(run.call("dear", estimate=2, cost=8), *(run.call(str(number), estimate=2, cost=2, turns=9) for number in range(3)))
    assert ended == [None] * 4
    assert isinstance(finished(run.call("next", estimate=2, cost=2))[0], BudgetExhaustedError)  # may cost 8 as well


def test_a_budget_serves_one_event_loop_after_another() -> None:
    run = Run(cap_usd=10)
    for stage in ("answers", "scores"):
        assert finished(*(run.call(f"{stage} {number}", estimate=6, cost=0) for number in range(3))) == [None] * 3


@pytest.mark.parametrize("turns_before", range(8))
def test_whoever_is_cancelled_while_it_waits_holds_up_nobody(turns_before: int) -> None:
    async def scenario() -> list[str]:
        run = Run(cap_usd=5)
        calls = [asyncio.create_task(run.call(name, estimate=4, cost=0, turns=6)) for name in ("first", "cancelled", "last")]
        for _ in range(turns_before):
            await asyncio.sleep(0)
        calls[1].cancel()
        await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), timeout=20)
        return run.started

    assert asyncio.run(scenario()) == ["first", "last"]


Call = tuple[int, int, int, int | None]
CALLS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(FAILS, 9), st.integers(0, 6), st.none() | st.integers(0, 30)), min_size=1, max_size=40
)


@given(cap_usd=st.integers(0, 40), calls=CALLS)
def test_no_mix_of_calls_passes_the_cap_or_waits_for_ever(cap_usd: int, calls: list[Call]) -> None:
    """Calls as (estimate, cost, turns until the reply, turns until it is cancelled); no real cost is above its estimate."""

    async def scenario() -> tuple[Run, list[BaseException | None]]:
        run = Run(cap_usd)
        tasks = [
            asyncio.create_task(run.call(str(number), estimate=estimate, cost=min(cost, estimate), turns=turns))
            for number, (estimate, cost, turns, _) in enumerate(calls)
        ]
        for turn in range(31):
            for task, (_, _, _, cancelled_after) in zip(tasks, calls, strict=True):
                if cancelled_after == turn:
                    task.cancel()
            await asyncio.sleep(0)
        return run, await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), timeout=20)

    run, ended = asyncio.run(scenario())
    assert run.most_usd <= cap_usd
    assert all(in_flight_usd == 0 and would_be_usd > cap_usd for in_flight_usd, would_be_usd in run.stops)
    assert len(run.stops) == sum(isinstance(error, BudgetExhaustedError) for error in ended)
