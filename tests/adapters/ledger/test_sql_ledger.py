import asyncio
import sqlite3
from pathlib import Path

import pytest

from evalplatform.adapters.ledger.open import open_ledger
from evalplatform.adapters.ledger.sql import PAGE_ROWS, SqlLedger
from evalplatform.adapters.ledger.statements import LOOKUP_CHUNK
from evalplatform.kernel.errors import StorageError, StorageUnavailableError
from evalplatform.ports.ledger import LedgerRow, Spend
from tests.support.ledger_rows import a_row


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/calls.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def test_projects_in_one_database_do_not_see_each_other(url: str) -> None:
    async def run() -> None:
        demo, other = open_ledger(url, project="demo"), open_ledger(url, project="other")
        await demo.record(a_row("q1", text="demo's"))
        assert await other.find(a_row("q1").key) is None
        assert await other.record(a_row("q1", project="other", text="other's")) == a_row("q1", project="other", text="other's")
        assert [row.reply.text async for row in demo.rows()] == ["demo's"]
        assert (await other.spend("run-1")).calls == 1
        await demo.aclose()
        await other.aclose()

    asyncio.run(run())


def test_a_row_of_another_project_is_refused(url: str) -> None:
    async def run() -> None:
        ledger = open_ledger(url, project="demo")
        with pytest.raises(StorageError, match="project 'other'"):
            await ledger.record(a_row("q1", project="other"))
        await ledger.aclose()

    asyncio.run(run())


def test_many_calls_go_in_and_come_back_over_several_batches_and_pages(url: str) -> None:
    rows = [a_row(f"q{number}", draw=number % 3, cost_usd=1.0) for number in range(3 * LOOKUP_CHUNK)]
    assert len(rows) > 2 * PAGE_ROWS

    async def run() -> None:
        ledger = open_ledger(url, project="demo")
        assert list(await asyncio.gather(*[ledger.record(row) for row in rows])) == rows
        again = await asyncio.gather(*[ledger.record(row.with_changes(run_id="run-2")) for row in rows])
        assert list(again) == rows
        assert list(await asyncio.gather(*[ledger.find(row.key) for row in rows])) == rows
        assert sorted([row.key.request_digest async for row in ledger.rows()]) == sorted(row.key.request_digest for row in rows)
        assert await ledger.spend("run-1") == Spend(known_usd=len(rows), calls=len(rows))
        assert await ledger.spend("run-2") == Spend(known_usd=len(rows), calls=len(rows))  # each was asked, and paid for, all the same
        await ledger.aclose()

    asyncio.run(run())


def test_a_closed_ledger_says_so(url: str) -> None:
    async def run() -> None:
        ledger = open_ledger(url, project="demo")
        await ledger.aclose()
        await ledger.aclose()
        with pytest.raises(StorageUnavailableError, match="closed"):
            await ledger.find(a_row("q1").key)

    asyncio.run(run())


def test_a_row_the_database_refuses_fails_alone(postgres_url: str) -> None:
    # A model name with NUL: Postgres takes none in text, whoever sent it.
    async def run() -> None:
        ledger = open_ledger(postgres_url, project="demo")
        good, bad = [a_row(f"q{number}") for number in range(5)], a_row("bad", model="m\x00")
        outcomes = await asyncio.gather(*[ledger.record(row) for row in [*good, bad]], return_exceptions=True)
        assert outcomes[:5] == good
        assert isinstance(outcomes[5], StorageError)
        assert (await ledger.spend("run-1")).calls == 5
        await ledger.aclose()

    asyncio.run(run())


def test_a_reply_is_stored_compressed(tmp_path: Path) -> None:
    async def run() -> None:
        ledger = open_ledger(f"sqlite:///{tmp_path}/calls.db", project="demo")
        await ledger.record(a_row("q1", text="x" * 1_000_000))
        await ledger.aclose()

    asyncio.run(run())
    with sqlite3.connect(tmp_path / "calls.db") as connection:
        (size_bytes,) = connection.execute("SELECT length(reply) FROM calls").fetchone()
    connection.close()
    assert size_bytes < 1_000


def test_a_writer_that_holds_the_database_too_long_is_unavailable_and_not_a_hang(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/calls.db"

    async def run() -> None:
        ledger = open_ledger(url, project="demo")
        _wait_no_longer_than(ledger, milliseconds=50)
        holder = sqlite3.connect(tmp_path / "calls.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        outcomes = await asyncio.gather(*[ledger.record(a_row(f"q{number}")) for number in range(20)], return_exceptions=True)
        assert all(isinstance(outcome, StorageUnavailableError) for outcome in outcomes)
        assert await ledger.find(a_row("q1").key) is None
        holder.execute("ROLLBACK")
        holder.close()
        assert isinstance(await ledger.record(a_row("q1")), LedgerRow)
        await ledger.aclose()

    asyncio.run(run())


def _wait_no_longer_than(ledger: SqlLedger, *, milliseconds: int) -> None:
    from sqlalchemy import event

    def shorten(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA busy_timeout={milliseconds}")

    event.listen(ledger._engine, "checkout", shorten)
