"""What every ledger promises, over every ledger there is."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import TypeVar

import pytest

from evalplatform.adapters.ledger.open import open_ledger
from evalplatform.ports.ledger import EVERY_CALL, CallGroup, CallSelection, CallSums, Ledger, LedgerRow, Purpose, Spend
from tests.support.doubles import MemoryLedger
from tests.support.ledger_rows import a_row

T = TypeVar("T")
OpenLedger = Callable[[], Ledger]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> OpenLedger:
    """Opens the same ledger again and again."""
    if request.param == "memory":
        ledger = MemoryLedger()
        return lambda: ledger
    url = f"sqlite:///{tmp_path}/calls.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return lambda: open_ledger(url, project="demo")


@asynccontextmanager
async def opened(reopen: OpenLedger) -> AsyncIterator[Ledger]:
    ledger = reopen()
    try:
        yield ledger
    finally:
        await ledger.aclose()


def in_ledger(reopen: OpenLedger, use: Callable[[Ledger], Awaitable[T]]) -> T:
    async def run() -> T:
        async with opened(reopen) as ledger:
            return await use(ledger)

    return asyncio.run(run())


async def all_rows(ledger: Ledger, selection: CallSelection = EVERY_CALL) -> list[LedgerRow]:
    return [row async for row in ledger.rows(selection)]


def test_a_call_that_was_never_recorded_is_not_found(reopen: OpenLedger) -> None:
    assert in_ledger(reopen, lambda ledger: ledger.find(a_row("q1").key)) is None


def test_a_recorded_call_is_found_again_unchanged_after_reopening(reopen: OpenLedger) -> None:
    row = a_row("q1", text="42", cost_usd=0.25)
    assert in_ledger(reopen, lambda ledger: ledger.record(row)) == row
    assert in_ledger(reopen, lambda ledger: ledger.find(row.key)) == row


def test_what_is_not_known_of_a_call_stays_unknown(reopen: OpenLedger) -> None:
    row = a_row("q1", cost_usd=None, price_table=None, prompt_tokens=None, completion_tokens=None)
    found = in_ledger(reopen, lambda ledger: ledger.record(row))
    found = in_ledger(reopen, lambda ledger: ledger.find(row.key))
    assert found is not None
    assert (found.cost_usd, found.price_table, found.reply.usage.prompt_tokens, found.reply.usage.total_tokens) == (None, None, None, None)


def test_the_first_row_of_a_key_stays_and_is_returned_to_later_writers(reopen: OpenLedger) -> None:
    first, second = a_row("q1", text="first"), a_row("q1", text="second", run_id="run-2")

    async def both(ledger: Ledger) -> tuple[LedgerRow, LedgerRow | None]:
        await ledger.record(first)
        return await ledger.record(second), await ledger.find(first.key)

    assert in_ledger(reopen, both) == (first, first)


def test_sixteen_racing_writers_of_one_key_all_get_the_same_row(reopen: OpenLedger) -> None:
    async def race(ledger: Ledger) -> list[LedgerRow]:
        return list(await asyncio.gather(*[ledger.record(a_row("q1", text=f"writer {number}")) for number in range(16)]))

    assert len({row.reply.text for row in in_ledger(reopen, race)}) == 1
    assert in_ledger(reopen, lambda ledger: ledger.spend("run-1")).calls == 1


def test_repeated_samples_of_one_request_are_calls_of_their_own_and_replay_as_they_were(reopen: OpenLedger) -> None:
    # Pitfall M05: four "samples" that hit one cache entry have a standard error of 0 by construction.
    draws = [a_row("q1", text=f"sample {draw}", draw=draw) for draw in range(4)]

    async def replay(ledger: Ledger) -> list[LedgerRow | None]:
        await asyncio.gather(*[ledger.record(row) for row in draws])
        return list(await asyncio.gather(*[ledger.find(row.key) for row in draws]))

    assert in_ledger(reopen, replay) == draws


def test_every_part_of_the_key_tells_calls_apart(reopen: OpenLedger) -> None:
    rows = [
        a_row("q1"),
        a_row("q2"),
        a_row("q1", draw=1),
        a_row("q1", attempt=1),
        a_row("q1", scope="batch:b-1"),
        a_row("q2", draw=1, attempt=1),
    ]

    async def replay(ledger: Ledger) -> list[LedgerRow | None]:
        for row in rows[:-1]:
            await ledger.record(row)
        return list(await asyncio.gather(*[ledger.find(row.key) for row in rows]))

    assert in_ledger(reopen, replay) == [*rows[:-1], None]


def test_what_a_run_paid_adds_up_over_resumptions(reopen: OpenLedger) -> None:
    # Pitfall M08: a resumed run that forgets what its first part used.
    in_ledger(reopen, lambda ledger: ledger.record(a_row("part 1", cost_usd=1.0)))
    in_ledger(reopen, lambda ledger: ledger.record(a_row("part 2", cost_usd=0.25)))
    in_ledger(reopen, lambda ledger: ledger.record(a_row("redraw", cost_usd=None, attempt=1)))
    in_ledger(reopen, lambda ledger: ledger.record(a_row("other", cost_usd=8.0, run_id="run-2")))
    assert in_ledger(reopen, lambda ledger: ledger.spend("run-1")) == Spend(known_usd=1.25, calls=3, unpriced_calls=1)


def test_tokens_of_both_parts_of_a_resumed_run_are_kept_by_attempt(reopen: OpenLedger) -> None:
    in_ledger(reopen, lambda ledger: ledger.record(a_row("q1", attempt=0, prompt_tokens=1000, completion_tokens=0)))
    in_ledger(reopen, lambda ledger: ledger.record(a_row("q1", attempt=1, prompt_tokens=300, completion_tokens=0)))
    assert [(row.key.attempt, row.reply.usage.total_tokens) for row in in_ledger(reopen, all_rows)] == [(0, 1000), (1, 300)]


def test_a_call_that_another_run_recorded_first_was_paid_for_all_the_same(reopen: OpenLedger) -> None:
    async def both(ledger: Ledger) -> tuple[LedgerRow, Spend, Spend]:
        await ledger.record(a_row("q1", cost_usd=1.0, run_id="run-1"))
        kept = await ledger.record(a_row("q1", cost_usd=0.5, run_id="run-2"))
        return kept, await ledger.spend("run-1"), await ledger.spend("run-2")

    kept, first, second = in_ledger(reopen, both)
    assert kept.run_id == "run-1"
    assert (first, second) == (Spend(known_usd=1.0, calls=1), Spend(known_usd=0.5, calls=1))


def test_a_call_told_twice_by_its_run_costs_it_once(reopen: OpenLedger) -> None:
    async def twice(ledger: Ledger) -> Spend:
        await ledger.record(a_row("q1", cost_usd=1.0))
        await ledger.record(a_row("q1", cost_usd=1.0))
        return await ledger.spend("run-1")

    assert in_ledger(reopen, twice) == Spend(known_usd=1.0, calls=1, unpriced_calls=0)


def test_a_run_that_asked_nothing_has_paid_nothing(reopen: OpenLedger) -> None:
    assert in_ledger(reopen, lambda ledger: ledger.spend("run-1")) == Spend()


def test_rows_come_oldest_first_and_by_scope(reopen: OpenLedger) -> None:
    rows = [a_row(f"q{number}", scope="shared" if number % 2 else "night:n-1") for number in range(9)]

    async def listed(ledger: Ledger) -> tuple[list[LedgerRow], list[LedgerRow]]:
        for row in rows:
            await ledger.record(row)
        return await all_rows(ledger), await all_rows(ledger, CallSelection(scope="shared"))

    assert in_ledger(reopen, listed) == (rows, rows[1::2])


def test_text_of_any_kind_comes_back_as_it_was(reopen: OpenLedger, awkward_texts: list[str]) -> None:
    # Pitfall T02: Postgres refuses NUL in a text column, so replies never lie in one.
    rows = [a_row(hashlib.sha256(text.encode()).hexdigest(), text=text) for text in awkward_texts]

    async def replay(ledger: Ledger) -> list[LedgerRow | None]:
        await asyncio.gather(*[ledger.record(row) for row in rows])
        return list(await asyncio.gather(*[ledger.find(row.key) for row in rows]))

    assert in_ledger(reopen, replay) == rows


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def recorded(reopen: OpenLedger, rows: Sequence[LedgerRow]) -> None:
    async def record(ledger: Ledger) -> None:
        for row in rows:
            await ledger.record(row)

    in_ledger(reopen, record)


def test_calls_are_selected_by_what_is_given_and_the_first_moment_is_in_and_the_last_is_not(reopen: OpenLedger) -> None:
    rows = [
        a_row(f"q{number}", purpose="judge" if number % 2 else "answer", finished_at=NOON + timedelta(hours=number)) for number in range(6)
    ]
    recorded(reopen, rows)
    third = rows[2].key.request_digest
    selections = {
        CallSelection(since=NOON + timedelta(hours=2)): rows[2:],
        CallSelection(before=NOON + timedelta(hours=2)): rows[:2],
        CallSelection(since=NOON + timedelta(hours=1), before=NOON + timedelta(hours=4), purpose="judge"): [rows[1], rows[3]],
        CallSelection(since=datetime(2026, 3, 1, 13, tzinfo=timezone(timedelta(hours=-1)))): rows[2:],
        CallSelection(digest_start=third[:20]): [rows[2]],
        CallSelection(digest_start=third): [rows[2]],
        CallSelection(digest_start="sha256:%"): [],
        CallSelection(scope="night:n-1"): [],
    }
    for selection, expected in selections.items():
        assert in_ledger(reopen, lambda ledger, selection=selection: all_rows(ledger, selection)) == expected, selection  # type: ignore[misc]


def test_calls_are_added_up_by_day_scope_purpose_provider_and_model(reopen: OpenLedger) -> None:
    late = NOON.replace(hour=23, minute=59)
    rows = [
        a_row("q1", cost_usd=1.0, finished_at=late.astimezone(timezone(timedelta(hours=5)))),
        a_row("q2", cost_usd=None, price_table=None, prompt_tokens=None, finished_at=NOON),
        a_row("q3", cost_usd=0.5, finished_at=late + timedelta(minutes=1)),
        a_row("q4", model="large", purpose="judge", cost_usd=None, price_table=None, completion_tokens=None, finished_at=NOON),
    ]
    recorded(reopen, rows)

    def group(day: int, purpose: Purpose, model: str, sums: CallSums) -> CallGroup:
        return CallGroup(day=date(2026, 3, day), scope="shared", purpose=purpose, provider="openai-compatible", model=model, sums=sums)

    def sums(
        calls: int, cost_usd: float | None, unpriced: int, prompt: int | None, completion: int | None, uncounted: int, *moments: datetime
    ) -> CallSums:
        return CallSums(
            calls=calls,
            cost_usd=cost_usd,
            unpriced_calls=unpriced,
            prompt_tokens=prompt,
            completion_tokens=completion,
            uncounted_calls=uncounted,
            first_finished_at=moments[0],
            last_finished_at=moments[-1],
        )

    first = group(1, "answer", "small", sums(2, 1.0, 1, 10, 4, 1, NOON, late))
    judged = group(1, "judge", "large", sums(1, None, 1, 10, None, 1, NOON))
    second = group(2, "answer", "small", sums(1, 0.5, 0, 10, 2, 0, late + timedelta(minutes=1)))
    assert in_ledger(reopen, lambda ledger: ledger.groups()) == (first, judged, second)
    assert in_ledger(reopen, lambda ledger: ledger.groups(CallSelection(purpose="judge"))) == (judged,)
    assert in_ledger(reopen, lambda ledger: ledger.groups(CallSelection(scope="none"))) == ()


def test_removed_calls_are_gone_and_what_they_cost_their_run_stays_known(reopen: OpenLedger) -> None:
    rows = [a_row(f"q{number}", draw=number % 2, cost_usd=1.0) for number in range(250)]
    recorded(reopen, rows)
    keys = [row.key for row in rows[:230]]
    near = [row.key.model_copy(update={"attempt": 7}) for row in rows[230:]]
    assert in_ledger(reopen, lambda ledger: ledger.remove([*keys, *keys, *near])) == 230
    assert in_ledger(reopen, lambda ledger: ledger.remove(keys)) == 0
    assert in_ledger(reopen, all_rows) == rows[230:]
    assert in_ledger(reopen, lambda ledger: ledger.spend("run-1")) == Spend(known_usd=250.0, calls=250)
    assert in_ledger(reopen, lambda ledger: ledger.record(a_row("q0", text="asked again", run_id="run-2"))).reply.text == "asked again"
